import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { nowMs } from '../../../runtime/clock.ts'
import { systemRuntime } from '../../../runtime/system-runtime.ts'
import { BlobStore } from '../../blobs/blobs.ts'
import { serveCalls } from './calls.ts'

export interface BlobData {
  readonly file: string
}

/** The thread that stores the blobs of apps: large blobs must not delay events. */
assert(parentPort !== null, 'blobs are stored in a worker thread')
const { file } = workerData as BlobData
const { clock, timers } = systemRuntime
serveCalls(parentPort, timers, ({ background }) => new BlobStore(file, () => nowMs(clock), { background }))
