import { resolve } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { DataFolder, FolderLocked, replaceIdentity } from '../../store/index.ts'
import { confirm } from '../confirm.ts'
import type { Result } from '../output/output.ts'
import { quoted } from '../output/quoted.ts'

/** Gives a stopped node a new key, after a confirmation. */
export async function newIdentity(folder: string, isConfirmed: boolean): Promise<Result> {
  const opened = openStopped(folder)
  try {
    if (!isConfirmed) await confirm(effectOf(opened.path), 'yes')
    const { nodeId, formerId, formerKeyFile } = replaceIdentity(opened, systemRuntime)
    const text = `The node has a new identity: ${nodeId}. Its events until now are those of the node ${formerId}, whose key is in ${formerKeyFile}.`
    return { text: () => text, json: { nodeId, formerId, formerKeyFile } }
  } finally {
    opened.close()
  }
}

function openStopped(folder: string): DataFolder {
  try {
    return DataFolder.open(folder, { create: false })
  } catch (error) {
    if (!(error instanceof FolderLocked)) throw error
    const path = resolve(folder)
    const stop = error.pid === undefined ? 'Ctrl+C in its terminal' : `\`kill ${error.pid}\``
    const again = `shoal store new-identity --working-dir ${quoted(path)}`
    const cause = `A running node cannot get a new identity. Stop the one in \`${path}\` with ${stop}, and type \`${again}\` again.`
    throw new ShoalError('ERR_IO', cause)
  }
}

function effectOf(path: string): string {
  return `The node in \`${path}\` gets a new identity: to all others it is another node, and its streams until now get no further events.`
}
