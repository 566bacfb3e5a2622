import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { nowMs } from '../../../runtime/clock.ts'
import { systemRuntime } from '../../../runtime/system-runtime.ts'
import { BlobStore } from '../../blobs/blobs.ts'
import { answerCalls } from './calls.ts'

export interface BlobData {
  readonly file: string
}

/** The thread with the blobs of apps: a large one must not keep events waiting. */
assert(parentPort !== null, 'blobs have a thread of their own')
const { file } = workerData as BlobData
const { clock, timers } = systemRuntime
answerCalls(parentPort, timers, (background) => new BlobStore(file, () => nowMs(clock), { background }))
