import { resolve } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { sleep } from '../../runtime/timers.ts'
import { DataFolder, FolderLocked } from '../../store/index.ts'
import { verbose } from '../output/verbose.ts'
import { ControlClient, NoNode } from './control-client.ts'
import type { NodeClient } from './node-client.ts'

/** What a command does with the node of a data folder, depending on whether it runs. */
export interface FolderHandlers<T> {
  /** While the node runs: through its control socket. */
  readonly running: (node: NodeClient) => Promise<T>
  /** On the data folder of a stopped node, which it locks. */
  readonly stopped: () => Promise<T>
}

/** Polling interval for a node that is starting or stopping, in milliseconds. */
const pollMs = 50

/**
 * Runs a command on the node of a data folder, or on the folder when no node runs. While the folder is locked and no
 * node answers, both are retried.
 */
export async function onNodeOrFolder<T>(
  folder: string,
  { clock, timers }: Runtime,
  { running, stopped }: FolderHandlers<T>,
): Promise<T> {
  const path = resolve(folder)
  DataFolder.require(path)
  const node = new ControlClient(path, timers)
  const deadline = clock.steadyMs() + limits.controlWaitMs
  while (true) {
    try {
      verbose('INFO', `asking the node of the data directory ${path}`)
      return await running(node)
    } catch (error) {
      if (!(error instanceof NoNode)) throw error
    }
    try {
      verbose('INFO', `no node answers: using the data directory ${path} itself`)
      return await stopped()
    } catch (error) {
      if (!(error instanceof FolderLocked)) throw error
      // The node is starting or stopping: soon it answers, or the folder is free.
      if (clock.steadyMs() > deadline) throw inUse(path, error)
    }
    await sleep(timers, pollMs)
  }
}

/** Runs work on a data folder whose lock it holds. */
export function inStoppedFolder<T>(folder: string, work: (path: string) => T): T {
  const opened = DataFolder.open(folder, { create: false })
  try {
    return work(opened.path)
  } finally {
    opened.close()
  }
}

function inUse(path: string, { pid }: FolderLocked): ShoalError {
  const who = pid === undefined ? 'another process of shoal' : `the process ${pid}`
  const cause = `the data directory \`${path}\` is in use by ${who}, which does not answer on its control socket: a node that is starting or stopping, or another command such as \`shoal store verify\`. Try again when it has finished.`
  return new ShoalError('ERR_IO', cause)
}
