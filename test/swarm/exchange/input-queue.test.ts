import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { tuning } from '../../../src/base/tuning.ts'
import { InputQueue } from '../../../src/swarm/exchange/input-queue.ts'
import * as fc from '../../support/property.ts'

const MiB = 1024 * 1024

interface Given {
  readonly what: string
  readonly bytes: number
  readonly isJoined: boolean
}

/** A queue whose store is slow: what it was given is stored when the test says so. */
class SlowStore {
  readonly paused = new Set<string>()
  readonly waiting = new Set<string>()
  readonly overflowed: string[] = []
  /** What was given to the store, in this order. */
  readonly stored: string[] = []
  /** How many were given together, each time. */
  readonly together: number[] = []
  storing: { bytes: number; end: () => void }[] = []
  readonly queue = new InputQueue<Given>({
    store: (given) => {
      this.stored.push(...given.map(({ what }) => what))
      this.together.push(given.length)
      const bytes = given.reduce((sum, one) => sum + one.bytes, 0)
      return new Promise((end) => this.storing.push({ bytes, end: () => end() }))
    },
    isJoined: ({ isJoined }) => isJoined,
    pause: (peer, isPaused) => {
      assert.notEqual(this.paused.has(peer), isPaused, 'a peer is paused once')
      if (isPaused) this.paused.add(peer)
      else this.paused.delete(peer)
    },
    overflow: (peer) => {
      this.overflowed.push(peer)
      this.drop(peer)
    },
    waits: (peer, isWaiting) => {
      if (isWaiting) this.waiting.add(peer)
      else this.waiting.delete(peer)
    },
  })

  add(peer: string, bytes: number, what = '', isJoined = false): void {
    this.queue.add(peer, bytes, { what: `${peer}${what}`, bytes, isJoined })
  }

  drop(peer: string): void {
    this.queue.drop(peer)
    this.paused.delete(peer)
    this.waiting.delete(peer)
  }

  get storingBytes(): number {
    return this.storing.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  /** Ends the work under way that was begun first. */
  async finishOne(): Promise<void> {
    this.storing.shift()?.end()
    await settled()
  }

  async finishAll(): Promise<void> {
    while (this.storing.length > 0) await this.finishOne()
  }
}

function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

test('a peer with much unstored input is paused at the high mark, and resumed at the low one', async () => {
  const store = new SlowStore()
  for (let i = 0; i < 9; i++) {
    // Eight messages of 1 MiB are above the high mark by what each of them is charged.
    assert.equal(store.paused.has('a'), i >= 8)
    store.add('a', MiB)
  }
  assert.deepEqual([...store.paused], ['a'])
  assert.deepEqual(store.queue.of('a'), { inputBytes: 9 * (MiB + limits.queuedMessageBytes), isPaused: true })
  for (let left = 9; left > 1; left--) {
    assert.equal(store.paused.has('a'), true, `${left} MiB wait`)
    await store.finishOne()
  }
  assert.equal(store.paused.has('a'), false)
  await store.finishAll()
  assert.equal(store.queue.bytes, 0)
})

test('many small messages count as well', () => {
  const store = new SlowStore()
  const most = limits.inputBytesPerPeer / limits.queuedMessageBytes
  for (let i = 0; i <= most; i++) store.add('a', 0)
  assert.equal(store.paused.has('a'), true)
})

test('a peer that sends on although it is paused overflows, and its input is dropped', async () => {
  const store = new SlowStore()
  store.add('other', 100)
  while (store.overflowed.length === 0) {
    store.add('a', 4 * MiB)
    assert.ok(store.queue.bytes <= limits.inputBytesPerPeer + limits.inputBytesSincePause + 5 * MiB)
  }
  assert.deepEqual(store.overflowed, ['a'])
  assert.deepEqual(store.queue.of('a'), { inputBytes: 0, isPaused: false })
  await store.finishAll()
  assert.equal(store.queue.bytes, 0)
  assert.deepEqual(store.stored, ['other', 'a'], 'only what was under way was stored')
})

test('peers are paused when all of them together have too much unstored input', async () => {
  const store = new SlowStore()
  const peers = Array.from({ length: 20 }, (_, i) => `peer ${i}`)
  for (const peer of peers) store.add(peer, 4 * MiB)
  const isBeyond = (i: number): boolean => (i + 1) * (4 * MiB + limits.queuedMessageBytes) > limits.inputBytes
  assert.deepEqual(
    [...store.paused],
    peers.filter((_, i) => isBeyond(i)),
  )
  await store.finishAll()
  assert.equal(store.paused.size, 0)
})

test('the store is given what it takes at a time, and peers take turns', async () => {
  const store = new SlowStore()
  for (const what of [' 1', ' 2', ' 3']) for (const peer of ['a', 'b', 'c', 'd']) store.add(peer, 12 * MiB, what)
  assert.equal(store.storing.length, 2)
  await store.finishAll()
  assert.deepEqual(store.stored.slice(0, 4).sort(), ['a 1', 'b 1', 'c 1', 'd 1'])
  assert.equal(store.stored.length, 12)
})

test('a large message that waits for the store is not forgotten when a small one of another peer comes', async () => {
  const store = new SlowStore()
  for (const peer of ['a', 'b', 'c']) store.add(peer, 14 * MiB)
  store.add('d', 0)
  await store.finishAll()
  assert.deepEqual(store.stored, ['a', 'b', 'c', 'd'])
})

test('what can be stored together is, up to a size and a number, and stays in order', async () => {
  const store = new SlowStore()
  store.add('a', 0, ' first')
  for (let i = 0; i < 70; i++) store.add('a', 100, ` ${i}`, true)
  store.add('a', 0, ' alone')
  store.add('a', tuning.receiveSliceBytes, ' large', true)
  store.add('a', 100, ' last', true)
  await store.finishAll()
  assert.deepEqual(store.together, [1, limits.receivedChunks, 70 - limits.receivedChunks, 1, 1, 1])
  const numbers = Array.from({ length: 70 }, (_, i) => `${i}`)
  assert.deepEqual(
    store.stored,
    ['first', ...numbers, 'alone', 'large', 'last'].map((what) => `a ${what}`),
  )
})

test('input is stored in order per peer, within the bounds, and no peer stays paused', async () => {
  const operation = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ add: fc.nat(5), bytes: fc.integer({ min: 0, max: 14 * MiB }), joined: fc.boolean() }),
    },
    { weight: 4, arbitrary: fc.constant('finish' as const) },
    { weight: 1, arbitrary: fc.record({ drop: fc.nat(5) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 200 }), async (operations) => {
      const store = new SlowStore()
      let added = 0
      for (const given of operations) {
        if (given === 'finish') await store.finishOne()
        else if ('drop' in given) store.drop(`${given.drop}:`)
        else if (!store.paused.has(`${given.add}:`)) store.add(`${given.add}:`, given.bytes, `${added++}`, given.joined)
        const most = limits.inputBytes + 6 * (14 * MiB + limits.queuedMessageBytes)
        assert.ok(store.queue.bytes <= most)
        assert.ok(store.storing.length <= 1 || store.storingBytes <= limits.storingBytes)
        assert.ok(store.queue.bytes === 0 || store.storing.length > 0, 'something is being stored')
      }
      await store.finishAll()
      assert.equal(store.queue.bytes, 0)
      assert.deepEqual([store.paused.size, store.waiting.size, store.overflowed.length], [0, 0, 0])
      for (let peer = 0; peer < 6; peer++) {
        const order = store.stored.filter((what) => what.startsWith(`${peer}:`)).map((what) => Number(what.slice(2)))
        assert.deepEqual(
          order,
          order.toSorted((a, b) => a - b),
        )
      }
    }),
    { numRuns: 50 },
  )
})
