import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { AnswerQueue } from '../../../src/swarm/exchange/answer-queue.ts'
import * as fc from '../../support/property.ts'

const MiB = 1024 * 1024

interface Reading {
  readonly peer: string
  readonly what: string
  readonly bytes: number
  readonly isGone: () => boolean
  readonly end: (size: number) => void
}

/** A queue whose answers are read when the test says so. */
class SlowReads {
  readonly queue = new AnswerQueue()
  readonly superseded: string[] = []
  reading: Reading[] = []

  constructor(...peers: string[]) {
    for (const peer of peers) this.queue.connected(peer)
  }

  add(peer: string, stream: string, bytes = 4 * MiB): void {
    this.queue.add({
      peer,
      stream,
      bytes,
      answer: (most, isGone) =>
        new Promise((end) => this.reading.push({ peer, what: `${peer} ${stream}`, bytes: most, isGone, end })),
      supersede: () => this.superseded.push(`${peer} ${stream}`),
    })
  }

  /** Ends a read, which has brought all bytes it was asked for. */
  async finish(): Promise<Reading> {
    const reading = this.reading.shift() as Reading
    reading.end(reading.bytes)
    await new Promise((resolve) => setImmediate(resolve))
    return reading
  }
}

test('answers are read one at a time per peer, in order, and a bounded number in all', async () => {
  const peers = Array.from({ length: 2 * limits.answersAtOnce }, (_, i) => `peer ${i}`)
  const reads = new SlowReads(...peers)
  for (const stream of ['x', 'y']) for (const peer of peers) reads.add(peer, stream, 10)
  assert.equal(reads.reading.length, limits.answersAtOnce)
  assert.equal(reads.queue.of('peer 0').waitingRequests, 1)
  const order: string[] = []
  while (reads.reading.length > 0) order.push((await reads.finish()).what)
  assert.deepEqual(order, [...peers.map((peer) => `${peer} x`), ...peers.map((peer) => `${peer} y`)])
})

test('nothing is read for a congested peer, until it has taken what waits', async () => {
  const reads = new SlowReads('slow', 'fast')
  for (const stream of ['x', 'y']) for (const peer of ['slow', 'fast']) reads.add(peer, stream)
  reads.queue.congested('slow', true)
  await reads.finish()
  await reads.finish()
  assert.deepEqual(
    reads.reading.map(({ what }) => what),
    ['fast y'],
  )
  assert.deepEqual(reads.queue.of('slow'), { waitingRequests: 1, isCongested: true })
  reads.queue.congested('slow', false)
  assert.deepEqual(
    reads.reading.map(({ what }) => what),
    ['fast y', 'slow y'],
  )
})

test('a request replaces an earlier one of the same peer about the same stream', () => {
  const reads = new SlowReads('a', 'b')
  reads.queue.congested('a', true)
  for (const stream of ['x', 'y', 'x']) reads.add('a', stream)
  assert.deepEqual(reads.superseded, ['a x'])
  assert.equal(reads.queue.of('a').waitingRequests, 2)
})

test('answers for a peer that is gone are not sent, and those of unknown peers are not read', async () => {
  const reads = new SlowReads('a')
  reads.add('a', 'x')
  reads.add('a', 'y')
  reads.add('stranger', 'x')
  assert.equal(reads.reading.length, 1)
  reads.queue.drop('a')
  assert.equal(reads.reading[0]?.isGone(), true)
  reads.queue.connected('a')
  await reads.finish()
  assert.equal(reads.reading.length, 0)
  reads.add('a', 'z')
  assert.equal(reads.reading[0]?.isGone(), false)
})

for (const slow of [16, 80])
  test(`the answers that wait for ${slow} slow peers are bounded`, async () => {
    const peers = Array.from({ length: slow }, (_, i) => `slow ${i}`)
    const reads = new SlowReads(...peers, 'fast')
    for (const peer of peers) reads.add(peer, 'x')
    let unsent = 0
    for (let [next] = reads.reading; next !== undefined; [next] = reads.reading) {
      reads.queue.congested(next.peer, true)
      unsent += (await reads.finish()).bytes
    }
    assert.ok(unsent <= limits.answerBytes, `${unsent} bytes wait`)
    assert.ok(unsent >= limits.answerBytes / 2)
    reads.add('fast', 'x')
    const isAnswered = (): boolean => reads.reading.some(({ peer }) => peer === 'fast')
    assert.equal(isAnswered(), slow === 16, 'few slow peers do not keep others from being answered')
    for (const peer of peers) reads.queue.congested(peer, false)
    while (!isAnswered() && reads.reading.length > 0) await reads.finish()
    assert.ok(isAnswered())
  })

test('every request is read once or superseded, whatever the order of events', async () => {
  const operation = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ ask: fc.nat(3), stream: fc.nat(2), bytes: fc.integer({ min: 1, max: 4 * MiB }) }),
    },
    { weight: 4, arbitrary: fc.constant('finish' as const) },
    { weight: 3, arbitrary: fc.record({ congested: fc.nat(3), is: fc.boolean() }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 100 }), async (operations) => {
      const peers = ['0', '1', '2', '3']
      const reads = new SlowReads(...peers)
      let [asked, read] = [0, 0]
      const finish = async (): Promise<void> => {
        if (reads.reading.length === 0) return
        await reads.finish()
        read++
      }
      for (const given of operations) {
        if (given === 'finish') await finish()
        else if ('congested' in given) reads.queue.congested(`${given.congested}`, given.is)
        else {
          reads.add(`${given.ask}`, `${given.stream}`, given.bytes)
          asked++
        }
        const perPeer = Map.groupBy(reads.reading, ({ peer }) => peer)
        assert.ok([...perPeer.values()].every(({ length }) => length === 1))
      }
      for (const peer of peers) reads.queue.congested(peer, false)
      while (reads.reading.length > 0) await finish()
      assert.equal(read + reads.superseded.length, asked)
    }),
    { numRuns: 50 },
  )
})
