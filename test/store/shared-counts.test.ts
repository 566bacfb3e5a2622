import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { format } from '../../src/base/format.ts'
import type { Snapshot } from '../../src/store/port/index.ts'
import { SharedCounts } from '../../src/store/sqlite/index.ts'
import { Commits } from './counts/commits.ts'

test('a snapshot is consistent with a whole commit, while another thread publishes continuously', async () => {
  const counts = new SharedCounts()
  const commits = 200_000
  const worker = new Worker(new URL('./counts/publisher-thread.ts', import.meta.url), {
    workerData: { memory: counts.memory, commits },
  })
  let isOver = false
  const ended = once(worker, 'exit').then(([code]) => {
    isOver = true
    assert.equal(code, 0)
  })
  const expected = new Commits()
  const taken = { all: 0, moved: 0, fresh: 0 }
  let last: Snapshot | undefined
  const check = (isFresh: boolean): void => {
    const snapshot = counts.snapshot(isFresh ? undefined : last)
    if (snapshot.version !== last?.version) taken.moved++
    if (isFresh) taken.fresh++
    while (expected.changes < snapshot.version) expected.next()
    assert.equal(snapshot.version, expected.changes, 'the snapshot is between two commits')
    // A new stream may be known before its first events.
    const known = expected.counts.concat(Array(Math.max(0, snapshot.streams - expected.counts.length)).fill(0))
    assert.deepEqual(snapshot.counts(), known)
    last = snapshot
    taken.all++
  }
  // Yields to the event loop, so that the exit event of the thread is received and the ring wraps around.
  while (!isOver) {
    for (let i = 0; i < 200; i++) check(i % 3 === 0)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await ended
  for (const isFresh of [false, true]) check(isFresh)
  const all = new Commits()
  for (let i = 0; i < commits; i++) all.next()
  assert.equal(last?.version, all.changes)
  assert.ok(taken.moved > 3 && taken.fresh > 3, JSON.stringify(taken))
})

test('a snapshot is complete even if the ring of changes has wrapped around since the previous one', () => {
  const counts = new SharedCounts()
  const publish = (number: number, count: number) => counts.publish([{ number, count, pruned: 0, sealed: 0 }])
  for (const changes of [format.streamsPerTopic - 1, format.streamsPerTopic, 3 * format.streamsPerTopic]) {
    const last = counts.snapshot()
    publish(0, last.count(0) + 1)
    for (let i = 1; i <= changes; i++) publish(1, last.count(1) + i)
    assert.deepEqual(counts.snapshot(last).counts(), [last.count(0) + 1, last.count(1) + changes])
  }
})

test('a snapshot is reused while no count changes, and lists the streams that have grown since an earlier one', () => {
  const counts = new SharedCounts()
  const empty = counts.snapshot()
  assert.deepEqual([empty.streams, empty.count(5), empty.counts()], [0, 0, []])
  counts.publish([
    { number: 0, count: 3, pruned: 0, sealed: 0 },
    { number: 1, count: 0, pruned: 0, sealed: 0 },
  ])
  const first = counts.snapshot(empty)
  assert.deepEqual(first.grownSince(empty), [0])
  // Sealing and pruning do not change counts.
  counts.publish([{ number: 0, count: 3, pruned: 2, sealed: 3 }])
  assert.equal(counts.snapshot(first), first)
  counts.publish([
    { number: 2, count: 1, pruned: 0, sealed: 0 },
    { number: 0, count: 4, pruned: 2, sealed: 3 },
  ])
  const second = counts.snapshot(first)
  assert.deepEqual(second.grownSince(first), [0, 2])
  assert.deepEqual(second.grownSince(empty), [0, 2])
  assert.deepEqual(second.grownSince(second), [])
  assert.deepEqual(
    [0, 1, 2].map((stream) => first.count(stream)),
    [3, 0, 0],
  )
})
