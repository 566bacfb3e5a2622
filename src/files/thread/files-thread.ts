import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../base/assert.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { serveCalls } from '../../store/index.ts'
import { FileStore } from './file-store.ts'

export interface FilesData {
  readonly file: string
}

/** The files thread: hashes and verifies blocks, and waits for the disk. */
assert(parentPort !== null, 'the files thread is a worker thread')
const { file } = workerData as FilesData
const { timers } = systemRuntime
serveCalls(parentPort, timers, (reports) => new FileStore(file, systemRuntime, reports))
