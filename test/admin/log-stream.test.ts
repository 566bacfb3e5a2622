import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogStream } from '../../src/admin/routes/log-stream.ts'
import { limits } from '../../src/base/limits.ts'
import type { RecentLine } from '../../src/logging/index.ts'
import { VirtualClock, VirtualTimers } from '../support/virtual-runtime.ts'

const line = (text: string): RecentLine => ({ micros: 0, level: 'INFO', text: `${text}\n` })

function made(first: readonly RecentLine[] = []) {
  let add: (line: RecentLine) => void = () => assert.fail('not subscribed')
  let isSubscribed = true
  const timers = new VirtualTimers(new VirtualClock())
  const stream = new LogStream(
    first,
    (listener) => {
      add = listener
      return () => {
        isSubscribed = false
      }
    },
    timers,
  )
  const chunks = stream[Symbol.asyncIterator]()
  const next = async (): Promise<string> => String((await chunks.next()).value)
  return { stream, chunks, next, timers, add: (text: string) => add(line(text)), isSubscribed: () => isSubscribed }
}

test('lines are sent in order, those before the start first, with keep-alives between them', async () => {
  const { next, add, timers } = made([line('a'), line('b')])
  assert.equal(await next(), 'a\nb\n')
  const third = next()
  add('c')
  assert.equal(await third, 'c\n')
  add('d')
  add('e')
  assert.equal(await next(), 'd\ne\n')
  const idle = next()
  timers.advance(limits.keepAliveMs)
  assert.equal(await idle, '\n')
  assert.equal(timers.pending, 0)
})

test('lines beyond the buffer of a slow client are dropped and counted', async () => {
  const { next, add } = made()
  const large = 'x'.repeat(limits.logStreamBytes / 2)
  for (const text of ['a', large, large, large, 'b']) add(text)
  const lines = (await next()).trimEnd().split('\n')
  assert.deepEqual(lines.slice(0, 3), ['a', large, 'b'])
  assert.match(lines[3] ?? '', /"message":"2 lines were left out"/)
  add('c')
  assert.equal(await next(), 'c\n')
})

test('a cancelled stream ends and unsubscribes from the log', async () => {
  const { stream, chunks, isSubscribed, timers } = made()
  const waiting = chunks.next()
  stream.cancel()
  assert.deepEqual(await waiting, { done: true, value: undefined })
  assert.equal(isSubscribed(), false)
  assert.equal(timers.pending, 0)
})
