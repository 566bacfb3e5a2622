import { parentPort, workerData } from 'node:worker_threads'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { LinkedLog, type LogLink } from '../../src/store/linked/index.ts'

/** A thread that receives chunks of other nodes through a link, and reports each result. */
const log = new LinkedLog(workerData as LogLink, systemRuntime)
log.onAppended((appended) => {
  for (const { count } of appended) parentPort?.postMessage({ appended: count })
})
parentPort?.on('message', async (chunk: Uint8Array) => {
  const { state } = await log.receive(chunk)
  parentPort?.postMessage({ state })
})
