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

const pattern = Buffer.from(Uint8Array.from({ length: 4 * tuning.letterBytes }, (_, i) => i % 251))

/** The bytes of a request; adjacent bytes differ. */
function sourceOf(id: number, bytes: number): Buffer {
  assert.ok(bytes <= 3 * tuning.letterBytes)
  return pattern.subarray(id % 251, (id % 251) + bytes)
}

/** A request whose bytes identify it and their position in it. */
function requestOf(id: number, bytes: number, events = 1): AppendRequest {
  const spans = Int32Array.from({ length: 4 * events }, (_, i) => id + i)
  return {
    source: Buffer.from(sourceOf(id, bytes)),
    spans,
    streams: new Uint32Array(events).fill(id),
  }
}

function assertRequest({ source, spans, streams }: AppendRequest, id: number, bytes: number): void {
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
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('large' as const), bytes: fc.nat(tuning.letterBytes * 2) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'call' as const }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('take' as const), count: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'release' as const }) },
)

test('messages of all kinds are received unchanged and in the order in which they were sent', () => {
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
        else assertRequest((next as { request: AppendRequest }).request, expected.id, expected.bytes)
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

test('sending between the parts of a request fails, and aborts that request', () => {
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

test('requests that exceed the shared memory are delivered in order', () => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  const count = Math.ceil((3 * tuning.mailboxBytes) / tuning.letterBytes)
  for (let id = 1; id <= count; id++) outbox.append(id, requestOf(id, tuning.letterBytes - 64))
  for (let id = 1; id <= count; id++) {
    const next = inbox.next() as { id: number; request: AppendRequest }
    assert.equal(next.id, id)
    assertRequest(next.request, id, tuning.letterBytes - 64)
  }
  assert.equal(inbox.next(), undefined)
  close()
})

test('requests sent while the consumer checks the mailbox are received in order', (t) => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  const { load } = Atomics
  let id = 0
  let loads = 0
  let sendBefore = 0
  t.mock.method(Atomics, 'load', ((words: Int32Array, word: number) => {
    if (++loads === sendBefore) {
      outbox.append(++id, requestOf(1, 10))
      outbox.post({ id: ++id, call: 'x' })
      outbox.append(++id, requestOf(3, 10))
    }
    return load(words, word)
  }) as never)
  // Sends before each atomic load of an unsuccessful check.
  inbox.next()
  for (let at = loads; at > 0; at--) {
    loads = 0
    sendBefore = at
    const taken = [inbox.next(), inbox.next(), inbox.next(), inbox.next()].map((next) => next?.id)
    assert.deepEqual(
      taken.filter((one) => one !== undefined),
      [id - 2, id - 1, id],
      `sent before load ${at}`,
    )
    inbox.release()
  }
  close()
})

test('a message that arrives while an earlier one waits for its turn is received after it', () => {
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

test('a sleeping consumer is notified once, and one about to sleep sees new requests', () => {
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
  assert.equal(posted(), 2, 'an active consumer is notified through shared memory')
  assert.equal(inbox.next()?.id, 3)
  assert.equal(inbox.next()?.id, 4)
  close()
})

test('an announcement wakes a sleeping consumer, and an active one is notified through shared memory', () => {
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

test('after an announcement the consumer spins longer, until the request arrives or the spin times out', (t) => {
  const { outbox, inbox, close } = mailbox()
  inbox.enter(null)
  let now = 0
  t.mock.method(performance, 'now', () => (now += 0.01))
  const spinTime = (): number => {
    const before = now
    assert.equal(inbox.wait(0, true), false)
    return now - before
  }
  const usually = spinTime()
  outbox.announce()
  assert.equal(inbox.wait(0, true), true, 'a notification is pending')
  assert.ok(spinTime() > 4 * usually)
  assert.ok(spinTime() < 2 * usually, 'the announced request did not arrive')
  for (const [i, bytes] of [5000, 2 * tuning.letterBytes].entries()) {
    outbox.announce()
    outbox.append(i + 1, requestOf(i, bytes))
    assert.equal(inbox.next()?.id, i + 1)
    assert.equal(inbox.wait(0, true), true, 'a notification is pending')
    assert.ok(spinTime() < 2 * usually, 'the request has arrived')
  }
  close()
})

test('a waiting consumer is woken by a notification, or by its timeout', async () => {
  const { inbox, close } = mailbox()
  assert.equal(inbox.wait(1, true), false)
  close()
  const memory = newMailbox()
  const waiting = new Inbox<Call>(memory, new MessageChannel().port1, systemClock)
  // Another thread notifies this one while it sleeps.
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

test('gathering requests ends when there are enough, or at the deadline', () => {
  const { outbox, inbox, close } = mailbox()
  const began = performance.now()
  const deadline = (): number => performance.now() + 60_000
  for (const id of [1, 2]) outbox.append(id, requestOf(id, 8))
  // Exceeds the shared memory.
  outbox.append(3, requestOf(3, tuning.letterBytes + 1))
  inbox.gather(3, deadline())
  for (let i = 0; i < 3; i++) assert.ok(inbox.next() !== undefined)
  // Requests that were received no longer count.
  outbox.append(4, requestOf(4, 8))
  const start = performance.now()
  inbox.gather(2, start + 20)
  assert.ok(performance.now() - start >= 20)
  inbox.gather(1, deadline())
  // A message ends the gathering.
  outbox.post({ id: 5, call: 'something' })
  inbox.gather(2, deadline())
  assert.ok(performance.now() < began + 30_000, 'no gathering has reached its deadline')
  close()
})

test('gathering is woken when enough requests have arrived, despite other notifications', async () => {
  const memory = newMailbox()
  const inbox = new Inbox<Call>(memory, new MessageChannel().port1, systemClock)
  const module = new URL('../../src/store/threads/writer/mailbox.ts', import.meta.url).href
  // Another thread sends requests while this one sleeps, with unrelated notifications in between.
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
  // A plain wait is woken by any notification, also after gathering has timed out.
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
