import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import type { TopicKind } from '../../../protocol/index.ts'
import { systemRuntime } from '../../../runtime/system-runtime.ts'
import { serveCalls } from '../calls/calls.ts'
import { ChunkChecks } from './chunk-checks.ts'

export interface VerifierData {
  readonly kind: TopicKind
}

/** The thread that verifies chunks of other nodes: a bad chunk costs the writer nothing. */
assert(parentPort !== null, 'chunks are verified in a worker thread')
const { kind } = workerData as VerifierData
serveCalls(parentPort, systemRuntime.timers, () => new ChunkChecks(kind))
