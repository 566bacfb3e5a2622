import { type MessagePort, type ResourceLimits, Worker } from 'node:worker_threads'
import { ShoalError } from '../../base/errors.ts'
import { tuning } from '../../base/tuning.ts'
import { isOutOfDescriptors } from '../../runtime/descriptors.ts'
import type { StoreDamage } from '../disk/wal-check.ts'
import { fromMessage, type Opened } from './thread-messages.ts'

/** All threads except the writer are started on demand, or restarted after they have ended. */
export type ThreadName = 'writer' | 'sealer' | 'reader' | 'verifier' | 'files' | 'blobs' | 'swarm'

/** An observer of the threads of the store. */
export interface ThreadWatch {
  /** A thread could not be started; the start is retried. */
  startFailed(thread: ThreadName, error: Error): void
  /** A thread has ended unexpectedly. */
  ended(thread: ThreadName, error: Error): void
  /** A thread is open, for the first time or again. */
  started(thread: ThreadName): void
}

export const noWatch: ThreadWatch = { startFailed: () => {}, ended: () => {}, started: () => {} }

/** The error of calls to a thread that cannot be started. */
export function threadUnavailable(thread: ThreadName, cause: unknown): ShoalError {
  const reason = isOutOfDescriptors(cause) ? 'too many files are open' : 'the system refuses another thread'
  const message = `Service overloaded. The ${thread} thread cannot be started, since ${reason}. Try again.`
  return new ShoalError('ERR_SERVICE_OVERLOADED', message, { cause })
}

export function spawn(
  module: URL,
  workerData: unknown,
  transferList: MessagePort[] = [],
  resourceLimits: ResourceLimits = {},
): Worker {
  const limits = { maxYoungGenerationSizeMb: tuning.youngGenerationMb, ...resourceLimits }
  return new Worker(module, { workerData, transferList, resourceLimits: limits })
}

/** Waits until a thread reports that it is open. Throws its error if it failed to open. */
export async function untilOpen(worker: Worker, onDamage: (damage: StoreDamage) => void = () => {}): Promise<void> {
  const { error, damage = [] } = await new Promise<Opened>((resolve, reject) => {
    worker.once('message', (message: Opened) => {
      worker.off('error', reject)
      resolve(message)
    })
    worker.once('error', reject)
  })
  if (error !== undefined) throw fromMessage(error)
  for (const found of damage) onDamage(found)
}
