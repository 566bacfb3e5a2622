import { type MessagePort, Worker } from 'node:worker_threads'
import { limits } from '../../limits.ts'
import { fromMessage, type Opened } from './messages.ts'

export function spawn(
  module: URL,
  workerData: unknown,
  transferList: MessagePort[] = [],
  maxYoungGenerationSizeMb: number = limits.youngGenerationMb,
): Worker {
  return new Worker(module, { workerData, transferList, resourceLimits: { maxYoungGenerationSizeMb } })
}

/** Waits until a thread says that it is open: what keeps it from that is thrown here. */
export async function untilOpen(worker: Worker): Promise<void> {
  const { error } = await new Promise<Opened>((resolve, reject) => {
    worker.once('message', (message: Opened) => {
      worker.off('error', reject)
      resolve(message)
    })
    worker.once('error', reject)
  })
  if (error !== undefined) throw fromMessage(error)
}
