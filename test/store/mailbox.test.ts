import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MessageChannel, Worker } from 'node:worker_threads'
import { tuning } from '../../src/base/tuning.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { AppendRequest } from '../../src/store/port/index.ts'
import { newId } from '../../src/store/threads/pending-calls.ts'
import { Inbox, newMailbox, Outbox, ringBell } from '../../src/store/threads/writer/mailbox.ts'
import * as fc from '../support/property.ts'

interface Call {
  readonly id: number
  readonly call: string
}

const rising = Buffer.from(Uint8Array.from({ length: 4 * tuning.mailboxRequestBytes }, (_, i) => i % 251))

/** The bytes of a request: each is another one than those beside it. */
function sourceOf(id: number, bytes: number): Buffer {
  assert.ok(bytes <= 3 * tuning.mailboxRequestBytes)
  return rising.subarray(id % 251, (id % 251) + bytes)
}

/** A request whose bytes say which one it is, and where they stand in it. */
function requestOf(id: number, bytes: number, events = 1): AppendRequest {
  const spans = Int32Array.from({ length: 4 * events }, (_, i) => id + i)
  return {
    source: Buffer.from(sourceOf(id, bytes)),
    spans,
    streams: new Uint32Array(events).fill(id),
  }
}

function isRequest({ source, spans, streams }: AppendRequest, id: number, bytes: number): void {
  assert.equal(source.length, bytes)
  assert.ok(source.equals(sourceOf(id, bytes)))
  assert.deepEqual([...spans], [id, id + 1, id + 2, id + 3])
  assert.deepEqual([...streams], [id])
}

function mailbox(): { outbox: Outbox<Call>; inbox: Inbox<Call>; close: () => void; posted: () => number } {
  const memory = newMailbox()
  const { port1, port2 } = new MessageChannel()
  let posted = 0
  const target: typeof port1.postMessage = (message: unknown, transfer: never) => {
    posted++
    port1.postMessage(message, transfer)
  }
  const outbox = new Outbox<Call>(memory, { postMessage: target as never })
  return {
    outbox,
    inbox: new Inbox<Call>(memory, port2, systemClock),
    close: () => port1.close(),
    posted: () => posted,
  }
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('small' as const), bytes: fc.nat(2000) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('large' as const), bytes: fc.nat(tuning.mailboxRequestBytes * 2) }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'call' as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), count: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'release' as const }) },
)

test('whatever is sent in whatever way is taken in the order in which it was sent, and as it was', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
      const { outbox, inbox, close } = mailbox()
      inbox.enter(null)
      const sent: { id: number; bytes?: number }[] = []
      const take = (): boolean => {
        const next = inbox.next()
        const expected = sent.shift()
        assert.equal(next?.id, expected?.id)
        if (next === undefined || expected === undefined) return false
        if (expected.bytes === undefined) assert.deepEqual(next, { id: expected.id, call: 'x' })
        else isRequest((next as { request: AppendRequest }).request, expected.id, expected.bytes)
        return true
      }
      let id = 0
      for (const step of steps) {
        if (step.kind === 'small' || step.kind === 'large') {
          sent.push({ id: ++id, bytes: step.bytes })
          outbox.append(id, requestOf(id, step.bytes))
        } else if (step.kind === 'call') {
          sent.push({ id: ++id })
          outbox.post({ id, call: 'x' })
        } else if (step.kind === 'take') for (let i = 0; i < step.count && take(); i++);
        else inbox.release()
      }
      while (take()) inbox.release()
      assert.equal(inbox.leave(), true)
      close()
    }),
  )
})

test('nothing can be sent between the parts of a request, which is given up then', () => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  const rest = {
    next: () => {
      outbox.append(5, requestOf(5, 10))
      return { done: true, value: requestOf(1, 10) } as const
    },
  }
  assert.throws(() => outbox.appendParts(newId(), requestOf(1, 10), rest), /nothing comes between/)
  assert.deepEqual(
    [inbox.next(), inbox.next(), inbox.next()].map((letter) => letter !== undefined && 'part' in letter && letter.part),
    ['more', 'givenUp', false],
  )
  close()
})

test('what does not fit into the memory comes nevertheless, after what was there before it', () => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  const count = Math.ceil((3 * tuning.mailboxBytes) / tuning.mailboxRequestBytes)
  for (let id = 1; id <= count; id++) outbox.append(id, requestOf(id, tuning.mailboxRequestBytes - 64))
  for (let id = 1; id <= count; id++) {
    const next = inbox.next() as { id: number; request: AppendRequest }
    assert.equal(next.id, id)
    isRequest(next.request, id, tuning.mailboxRequestBytes - 64)
  }
  assert.equal(inbox.next(), undefined)
  close()
})

test('what is sent while somebody looks is taken in the order in which it was sent, too', (t) => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  const { load } = Atomics
  let id = 0
  let looks = 0
  let sendAt = 0
  t.mock.method(Atomics, 'load', ((words: Int32Array, word: number) => {
    if (++looks === sendAt) {
      outbox.append(++id, requestOf(1, 10))
      outbox.post({ id: ++id, call: 'x' })
      outbox.append(++id, requestOf(3, 10))
    }
    return load(words, word)
  }) as never)
  // Before each of the looks that it takes to find nothing.
  inbox.next()
  for (let at = looks; at > 0; at--) {
    looks = 0
    sendAt = at
    const taken = [inbox.next(), inbox.next(), inbox.next(), inbox.next()].map((next) => next?.id)
    assert.deepEqual(
      taken.filter((one) => one !== undefined),
      [id - 2, id - 1, id],
      `sent before look ${at}`,
    )
    inbox.release()
  }
  close()
})

test('messages that come while one waits for its turn wait for theirs', () => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  outbox.append(1, requestOf(1, 10))
  outbox.post({ id: 2, call: 'x' })
  assert.equal(inbox.next()?.id, 1)
  assert.equal(inbox.leave(), false)
  inbox.enter({ id: 3, call: 'x' })
  assert.equal(inbox.next()?.id, 2)
  assert.equal(inbox.next()?.id, 3)
  close()
})

test('who is away is called once, and who is about to leave sees what has come', () => {
  const { outbox, inbox, posted, close } = mailbox()
  outbox.append(1, requestOf(1, 10))
  outbox.append(2, requestOf(2, 10))
  assert.equal(posted(), 1)
  inbox.enter(null)
  assert.equal(inbox.next()?.id, 1)
  assert.equal(inbox.leave(), false)
  assert.equal(inbox.next()?.id, 2)
  inbox.release()
  assert.equal(inbox.leave(), true)
  outbox.append(3, requestOf(3, 10))
  assert.equal(posted(), 2)
  inbox.enter(null)
  outbox.append(4, requestOf(4, 10))
  assert.equal(posted(), 2, 'who is here hears the bell')
  assert.equal(inbox.next()?.id, 3)
  assert.equal(inbox.next()?.id, 4)
  close()
})

test('whoever is away is called for a request that is announced, and who is here hears the bell', () => {
  const { outbox, inbox, posted, close } = mailbox()
  outbox.announce()
  outbox.announce()
  assert.equal(posted(), 1)
  inbox.enter(null)
  assert.equal(inbox.wait(30_000, false), true)
  outbox.announce()
  assert.equal(posted(), 1)
  assert.equal(inbox.wait(30_000, false), true)
  assert.equal(inbox.next(), undefined)
  close()
})

test('the bell is watched for longer once a request is announced, until it comes or does not', (t) => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  let now = 0
  t.mock.method(performance, 'now', () => (now += 0.01))
  const watched = (): number => {
    const before = now
    assert.equal(inbox.wait(0, true), false)
    return now - before
  }
  const usually = watched()
  outbox.announce()
  assert.equal(inbox.wait(0, true), true, 'the bell has rung')
  assert.ok(watched() > 4 * usually)
  assert.ok(watched() < 2 * usually, 'it was waited for in vain')
  for (const [i, bytes] of [5000, 2 * tuning.mailboxRequestBytes].entries()) {
    outbox.announce()
    outbox.append(i + 1, requestOf(i, bytes))
    assert.equal(inbox.next()?.id, i + 1)
    assert.equal(inbox.wait(0, true), true, 'the bell has rung')
    assert.ok(watched() < 2 * usually, 'it has come')
  }
  close()
})

test('who waits is woken by the bell, and goes on by itself when nothing comes', async () => {
  const { inbox, close } = mailbox()
  assert.equal(inbox.wait(1, true), false)
  close()
  const memory = newMailbox()
  const waiting = new Inbox<Call>(memory, new MessageChannel().port1, systemClock)
  // Another thread rings while this one sleeps.
  const module = new URL('../../src/store/threads/writer/mailbox.ts', import.meta.url).href
  const worker = new Worker(
    `import('${module}').then(({ ringBell }) => ringBell(require('node:worker_threads').workerData))`,
    { eval: true, workerData: memory },
  )
  assert.equal(waiting.wait(30_000, true), true)
  assert.equal(waiting.wait(1, true), false)
  ringBell(memory)
  assert.equal(waiting.wait(30_000, true), true)
  await worker.terminate()
})

test('who gathers requests goes on when there are enough, or when it is late', () => {
  const { outbox, inbox, close } = mailbox()
  const began = performance.now()
  const late = (): number => performance.now() + 60_000
  for (const id of [1, 2]) outbox.append(id, requestOf(id, 8))
  // Larger than what fits into the memory.
  outbox.append(3, requestOf(3, tuning.mailboxRequestBytes + 1))
  inbox.gather(3, late())
  for (let i = 0; i < 3; i++) assert.ok(inbox.next() !== undefined)
  // What was taken does not count any more.
  outbox.append(4, requestOf(4, 8))
  const start = performance.now()
  inbox.gather(2, start + 20)
  assert.ok(performance.now() - start >= 20)
  inbox.gather(1, late())
  // What comes as a message does not wait for others.
  outbox.post({ id: 5, call: 'something' })
  inbox.gather(2, late())
  assert.ok(performance.now() < began + 30_000, 'nobody waited until it was late')
  close()
})

test('who gathers requests is woken once they are there, whatever else rings', async () => {
  const memory = newMailbox()
  const inbox = new Inbox<Call>(memory, new MessageChannel().port1, systemClock)
  const module = new URL('../../src/store/threads/writer/mailbox.ts', import.meta.url).href
  // Another thread sends while this one sleeps, and rings for nothing in between.
  const worker = new Worker(
    `import('${module}').then(({ Outbox, ringBell }) => {
      const { workerData } = require('node:worker_threads')
      const outbox = new Outbox(workerData, { postMessage() {} })
      const request = { source: Buffer.from('x'), spans: new Int32Array(4), streams: new Uint32Array(1) }
      for (let id = 1; id <= 1000; id++) {
        ringBell(workerData)
        outbox.append(id, request)
      }
    })`,
    { eval: true, workerData: memory },
  )
  const end = performance.now() + 30_000
  // Whoever waits for anything is woken up by anything, also after it was late for many.
  inbox.gather(5000, performance.now() + 1)
  assert.equal(inbox.wait(60_000, false), true)
  for (let taken = 0; taken < 1000; inbox.release()) {
    inbox.gather(Math.min(7, 1000 - taken), end)
    const before = taken
    while (inbox.next() !== undefined) taken++
    assert.ok(taken - before >= Math.min(7, 1000 - before))
  }
  assert.ok(performance.now() < end)
  await worker.terminate()
})
