import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { tuning } from '../../src/base/tuning.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { encodeChunk, type Hash, heads } from '../../src/protocol/index.ts'
import { HeadTable } from '../../src/sync/head-table.ts'
import type { Message, Sync } from '../../src/sync/index.ts'
import { spreadPoints } from '../../src/sync/index.ts'
import * as fc from '../support/property.ts'
import { chunkOf, claimOf, closed, connectedTo, only, onlySent, rowOf, sent, topic } from './support.ts'

const key = new KeyPair(Buffer.alloc(32, 1))
const stream = { node: key.publicKey, number: 0 }
const other = 'o'.repeat(32) as Hash
type Want = Extract<Message, { is: 'want' }>

/** What a peer has of the other branch of stream 1. */
function branch(count: number) {
  const head = heads.sign({ topic, stream, count, lamport: count, hash: other, checkpoint: false, time: 1 }, key)
  return { ...rowOf(1, count), hash: other, head }
}

/** Answers the search of a node for the fork between two chains. Returns the messages it has sent. */
function search(sync: Sync, checkpoints: readonly number[], common: number): { from: number; asked: number } {
  let effects = sync.received('a', claimOf(branch(checkpoints.at(-1) as number)), 0)
  for (let asked = 0; ; asked++) {
    const { id, from, to } = only(effects, 'list-points')
    const points = spreadPoints(checkpoints.filter((count) => count > from && count <= to)).map((count) => ({
      count,
      hash: 'p'.repeat(32) as Hash,
    }))
    effects = sync.listedPoints('a', id, points, 0)
    if (sent(effects, 'want').length > 0) return { from: onlySent(effects, 'want').message.from, asked }
    const locate = onlySent(effects, 'locate').message
    const found = locate.points.findLast(({ count }) => count <= common)?.count ?? 0
    effects = sync.received('a', { is: 'located', id: locate.id, count: found }, 0)
  }
}

test('the last common checkpoint of two chains is found with few questions', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 1, max: 1e6 }), { minLength: 1, maxLength: 3000 }),
      fc.nat(),
      (list, i) => {
        const checkpoints = list.sort((a, b) => a - b)
        // The last one is the end of the stream, where the hashes are known to differ.
        const common = checkpoints.slice(0, -1)[i % checkpoints.length] ?? 0
        const sync = connectedTo('a')
        sync.changed(rowOf(1, checkpoints.at(-1) as number))
        const { from, asked } = search(sync, checkpoints, common)
        assert.equal(from, common)
        assert.ok(asked <= Math.ceil(Math.log(checkpoints.length + 1) / Math.log(limits.pointsPerLocate)) + 2)
      },
    ),
    { numRuns: 50 },
  )
})

test('a chunk that contradicts the stored events starts the search, and so does a missing frame border', () => {
  const sync = connectedTo('a', 'b')
  sync.changed(rowOf(1, 5))
  const { id } = onlySent(sync.received('a', claimOf(branch(9)), 0), 'want').message
  const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk: Buffer.alloc(1) }, 0), 'store')
  assert.equal(only(sync.stored(store, 'contradicts', rowOf(1, 5), 0), 'list-points').to, 5)

  const again = connectedTo('a')
  again.changed(rowOf(1, 5))
  const want = onlySent(again.received('a', claimOf(branch(9)), 0), 'want').message
  const effects = again.received('a', { is: 'nothing', id: want.id, reason: 'notABorder' }, 0)
  assert.equal(only(effects, 'list-points').from, 0)
})

test('a search waits while its peer has as many requests as it may have', () => {
  const sync = connectedTo('a')
  sync.changed(rowOf(1, 5))
  const asked = [2, 3, 4, 5, 6].flatMap((seed) => sent(sync.received('a', claimOf(rowOf(seed, 5)), 0), 'want'))
  assert.equal(asked.length, tuning.wantsPerPeer)
  const push = { is: 'push', chunk: encodeChunk([], branch(9).head) } as const
  const store = only(sync.received('a', push, 0), 'store')
  assert.deepEqual(sync.stored(store, 'contradicts', rowOf(1, 5), 0), [])
  const ids = asked.map(({ message }) => (message as { id: number }).id)
  const effects = ids.flatMap((id) => sync.received('a', { is: 'nothing', id, reason: 'notHere' }, 1))
  const wants = sent(effects, 'want').map(({ message }) => message as Want)
  const [id = 0] = wants.filter(({ from }) => from === 5).map((want) => want.id)
  assert.equal(only(sync.received('a', { is: 'nothing', id, reason: 'notABorder' }, 2), 'list-points').to, 5)
})

test('what the node of a stream has said is forgotten when a comparison shows that it has more, and no fork', () => {
  const origin = Buffer.from(stream.node).toString('latin1')
  const sync = connectedTo(origin)
  sync.changed(rowOf(1, 5))
  const { id } = only(sync.received(origin, claimOf(rowOf(1, 3)), 0), 'list-points')
  const want = onlySent(sync.listedPoints(origin, id, [], 0), 'want').message
  const chunk = chunkOf(rowOf(1, 5))
  const store = only(sync.received(origin, { is: 'chunk', id: want.id, more: false, chunk }, 0), 'store')
  sync.stored(store, 'known', rowOf(1, 5), 0)
  sync.received(origin, { is: 'ping', id: 1 }, limits.forkSearchRetryMs)
  const effects = sync.tick(limits.forkSearchRetryMs)
  assert.deepEqual(
    effects.filter((effect) => effect.do === 'list-points'),
    [],
  )
  assert.deepEqual(sent(effects, 'want'), [])
})

test('what the node of a stream has said is forgotten when it has the same heads since, and no fork is searched for', () => {
  const table = new HeadTable(topic, () => true)
  table.set(rowOf(1, 5))
  for (const hasSame of [true, false]) {
    const origin = Buffer.from(rowOf(1, 5).key.node).toString('latin1')
    const sync = connectedTo(origin)
    sync.changed(rowOf(1, 5))
    const { id } = only(sync.received(origin, claimOf(rowOf(1, 3)), 0), 'list-points')
    const want = onlySent(sync.listedPoints(origin, id, [], 0), 'want').message
    sync.received(origin, { is: 'nothing', id: want.id, reason: 'notHere' }, 0)
    // It has got the events that it had lost from another node.
    const digest = hasSame ? table.digest() : Buffer.alloc(8)
    sync.received(origin, { is: 'digest', digest, time: 1 }, limits.forkSearchRetryMs)
    const again = sync.tick(limits.forkSearchRetryMs).filter((effect) => effect.do === 'list-points')
    assert.equal(again.length, hasSame ? 0 : 1)
  }
})

test('a fork that was found is told to all peers and reported, and nothing more is asked for', () => {
  const sync = connectedTo('a', 'b')
  sync.changed(rowOf(1, 5))
  const { from } = search(sync, [5], 0)
  assert.equal(from, 0)
  const chunk = encodeChunk([], branch(5).head)
  const message: Message = { is: 'chunk', id: 2, more: false, chunk }
  const store = only(sync.received('a', message, 0), 'store')
  const effects = sync.stored(store, 'forked', { ...rowOf(1, 5), frozen: true }, 0)
  assert.equal(sent(effects, 'heads').length, 2)
  assert.deepEqual(only(effects, 'report'), { do: 'report', is: 'fork', stream, peer: 'a' })
  assert.deepEqual(sync.received('a', claimOf(branch(8)), 1), [])
})

const frozenRow = { ...rowOf(1, 0), frozen: true, head: undefined }

/** What a node asks for when a peer says that a stream is frozen, which it has no events of. */
function wantOfFrozen(sync: Sync): Want {
  return onlySent(sync.received('a', claimOf(frozenRow), 0), 'want').message
}

/** The request for the evidence, after the peer has said that it has no events before the fork. */
function wantEvidence(sync: Sync): number {
  const { id } = wantOfFrozen(sync)
  return onlySent(sync.received('a', { is: 'nothing', id, reason: 'notHere' }, 0), 'want-evidence').message.id
}

test('evidence is asked for when a peer says that a stream is frozen, and passed on', () => {
  const sync = connectedTo('a', 'b')
  const id = wantEvidence(sync)
  const apply = only(sync.received('a', { is: 'evidence', id, record: Buffer.of(1) }, 0), 'apply-evidence')
  const effects = sync.appliedEvidence(apply, 'applied', frozenRow, 0)
  assert.equal(sent(effects, 'heads').length, 2)
  assert.deepEqual(sent(sync.received('b', claimOf(frozenRow), 0), 'want-evidence'), [])
})

test('wrong evidence costs its sender the connection', () => {
  const sync = connectedTo('a')
  const id = wantEvidence(sync)
  const apply = only(sync.received('a', { is: 'evidence', id, record: Buffer.of(1) }, 0), 'apply-evidence')
  assert.deepEqual(closed(sync.appliedEvidence(apply, 'invalid', undefined, 0)), ['a: badRecord'])
})

test('the events before a fork are asked for until there are no more, then the evidence', () => {
  const sync = connectedTo('a')
  const { id, from } = wantOfFrozen(sync)
  assert.equal(from, 0)
  const chunk = chunkOf(rowOf(1, 5))
  const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk }, 0), 'store')
  const next = onlySent(sync.stored(store, 'stored', rowOf(1, 5), 0), 'want').message
  assert.equal(next.from, 5)
  const effects = sync.received('a', { is: 'nothing', id: next.id, reason: 'notABorder' }, 0)
  assert.equal(onlySent(effects, 'want-evidence').message.stream.number, 0)
  // Said again, it is not asked for the events again.
  assert.deepEqual(sent(sync.received('a', claimOf(frozenRow), 0), 'want'), [])
})

test('the prune record of a forked stream is asked for before its events', () => {
  for (const outcome of ['applied', 'unchanged'] as const) {
    const sync = connectedTo('a')
    const { id } = wantOfFrozen(sync)
    const effects = sync.received('a', { is: 'nothing', id, reason: 'pruned' }, 0)
    const want = onlySent(effects, 'want-records').message
    const records = { is: 'records', id: want.id, stream, prune: undefined, redactions: [], next: undefined } as const
    const apply = only(sync.received('a', records, 0), 'apply-records')
    const row = outcome === 'applied' ? { ...rowOf(1, 5), pruned: 5 } : undefined
    const after = sync.appliedRecords(apply, outcome, row, 0)
    if (outcome === 'unchanged') assert.equal(sent(after, 'want-evidence').length, 1)
    else {
      const again = onlySent(after, 'want').message
      assert.equal(again.from, 5)
      // Asked for once: what a peer says later may be wrong.
      const last = sync.received('a', { is: 'nothing', id: again.id, reason: 'pruned' }, 0)
      assert.equal(sent(last, 'want-evidence').length, 1)
    }
  }
})

test('evidence does not wait for events before the fork that do not fit here', () => {
  for (const outcome of ['contradicts', 'early', 'noRoom', 'failed'] as const) {
    const sync = connectedTo('a')
    const { id } = wantOfFrozen(sync)
    const chunk = chunkOf(rowOf(1, 5))
    const store = only(sync.received('a', { is: 'chunk', id, more: false, chunk }, 0), 'store')
    const effects = sync.stored(store, outcome, outcome === 'failed' ? undefined : rowOf(1, 3), 0)
    assert.equal(sent(effects, 'want-evidence').length, outcome === 'failed' ? 0 : 1, outcome)
  }
})

test('evidence waits for the rest of the events before a fork when a part of them came from elsewhere, or was lost', () => {
  for (const outcome of ['known', 'gap'] as const) {
    const sync = connectedTo('a')
    const { id } = wantOfFrozen(sync)
    const chunk = chunkOf(rowOf(1, 2))
    const store = only(sync.received('a', { is: 'chunk', id, more: true, chunk }, 0), 'store')
    const effects = sync.stored(store, outcome, rowOf(1, 3), 0)
    assert.deepEqual(sent(effects, 'want-evidence'), [], outcome)
    assert.equal(onlySent(sync.tick(limits.wantRetryMs), 'want').message.from, 3, outcome)
  }
})
