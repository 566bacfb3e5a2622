import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { tuning } from '../../../src/base/tuning.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { type Hash, heads } from '../../../src/protocol/index.ts'
import { PeerAnswers } from '../../../src/swarm/exchange/peer-answers.ts'
import type { ReplicatedLog } from '../../../src/swarm/exchange/replicated-log.ts'

test('the points of a fork search are spread over all checkpoints in the range, which are read in parts', async () => {
  const key = new KeyPair(Buffer.alloc(32, 1))
  const stream = { node: key.publicKey, number: 0 }
  const counts = Array.from({ length: 3 * tuning.checkpointsPerRead }, (_, i) => 10 * (i + 1))
  const hash = 'h'.repeat(32) as Hash
  const head = heads.sign({ topic: 't', stream, count: 1, lamport: 1, hash, checkpoint: true, time: 1 }, key)
  const reads: number[] = []
  const log: Pick<ReplicatedLog, 'streamOf' | 'checkpointsAfter'> = {
    streamOf: async () => ({ number: 0, key: stream, own: false, count: 9999, pruned: 0 }),
    checkpointsAfter: async (_, after, most) => {
      const part = counts.filter((count) => count > after).slice(0, most)
      reads.push(part.length)
      return part.map((count) => ({ count, head }))
    },
  }
  const answers = new PeerAnswers(log as ReplicatedLog)
  const points = async (from: number, to: number) =>
    (await answers.points({ do: 'list-points', peer: 'a', id: 1, stream, from, to })).map(({ count }) => count)
  const all = await points(0, 1e6)
  assert.deepEqual([all.length, all.at(-1)], [limits.pointsPerLocate, counts.at(-1)])
  assert.ok(reads.every((count) => count <= tuning.checkpointsPerRead))
  assert.deepEqual(await points(10, 35), [20, 30])
  assert.deepEqual(await points(10, 19), [])
})

test('a stream that is not here has no records to answer with, not even none', async () => {
  const stream = { node: new KeyPair(Buffer.alloc(32, 1)).publicKey, number: 0 }
  const log: Pick<ReplicatedLog, 'streamOf'> = { streamOf: async () => undefined }
  const answers = new PeerAnswers(log as ReplicatedLog)
  assert.equal(await answers.records({ do: 'read-records', peer: 'a', id: 1, stream, from: 0, to: 5 }), undefined)
})
