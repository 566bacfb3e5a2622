import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { Events } from '../../src/events/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { EventStore } from '../../src/store/index.ts'
import { eventsIn, memoryStore, nodeId, silent } from '../support/api.ts'
import * as fc from '../support/property.ts'
import { SlowStore } from '../support/slow-store.ts'

interface Line {
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  readonly timestamp: number
  readonly tags: string[]
  readonly appId: string
  readonly payload: unknown
}

const open = (store: EventStore) => Events.open(store, { ...systemRuntime, node: nodeId, routes: [], log: silent })
const app = 'com.example.app'

/** The stored events of the app, as lines. */
async function stored(store: EventStore): Promise<string[]> {
  return (await eventsIn(store)).filter((line) => line.includes(`"appId":"${app}"`))
}

const body = (data: unknown): Buffer => Buffer.from(JSON.stringify({ data }))

test('payloads are stored unchanged, and tags deduplicated and sorted by bytes', async () => {
  const tag = fc.string({ minLength: 1, maxLength: 8, unit: 'grapheme' }).filter((text) => text.isWellFormed())
  // Including duplicates and shared prefixes at any position.
  const alike = fc.constantFrom<string[]>('a', 'ab', 'abc', 'abcd', 'abcde', 'abcdefgh', 'abcdefghi', 'abcdefgx', 'b')
  const tags = fc.oneof(fc.array(tag, { maxLength: 6 }), fc.array<string>(alike, { maxLength: 12 }))
  const event = fc.record({ tags, payload: fc.jsonValue({ maxDepth: 4 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 8 }), fc.constantFrom(0, 2), async (data, indent) => {
      const store = memoryStore()
      const events = await open(store)
      const text = String(await events.publish(app, Buffer.from(JSON.stringify({ data }, undefined, indent))))
      const response = JSON.parse(text) as { data: Omit<Line, 'tags' | 'appId' | 'payload'>[] }
      const lines = (await stored(store)).map((line) => JSON.parse(line) as Line)
      const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))
      assert.deepEqual(
        lines.map(({ tags, payload }) => ({ tags, payload })),
        data.map(({ tags, payload }) => ({
          tags: [...new Set(tags.map((each) => each.normalize('NFC')))].sort(byBytes),
          payload: JSON.parse(JSON.stringify(payload)) as unknown,
        })),
      )
      assert.deepEqual(
        response.data,
        lines.map(({ lamport, stream, offset, timestamp }) => ({ lamport, stream, offset, timestamp })),
      )
    }),
    { numRuns: 300 },
  )
})

test('payloads keep their text except for whitespace', async () => {
  const store = memoryStore()
  const events = await open(store)
  const texts = ['1.0', '1e3', '9007199254740993', '"\\u00e4\\/"', '{"b":1,"a":2,"b":3}', 'null', '"\\ud800"']
  const spaced = [...texts.map((text) => ` ${text}\n`), '{ "x" : [ 1 , " y " ] }']
  await events.publish(app, Buffer.from(`{"data":[${spaced.map((text) => `{"payload":${text},"tags":[]}`)}]}`))
  const payloads = (await stored(store)).map((line) => /"payload":(.*)\}$/.exec(line)?.[1])
  assert.deepEqual(payloads, [...texts, '{"x":[1," y "]}'])
})

test('tags with escapes and composed characters are decoded and normalised', async () => {
  const store = memoryStore()
  const events = await open(store)
  const tags = String.raw`["Z","a","\u0061","e\u0301","é","\ud83d\ude00","😀","\n"]`
  await events.publish(app, Buffer.from(`{"data":[{"tags":${tags},"payload":1}]}`))
  const [line = ''] = await stored(store)
  assert.deepEqual((JSON.parse(line) as Line).tags, ['\n', 'Z', 'a', 'é', '😀'])
})

test('a publish without events does not reach the store', async () => {
  const store = memoryStore()
  const events = await open(store)
  const before = (await eventsIn(store)).length
  assert.equal(String(await events.publish(app, Buffer.from('{"data":[]}'))), '{"data":[]}')
  assert.equal((await eventsIn(store)).length, before)
})

test('a malformed body is refused with the position of the error, and nothing is stored', async () => {
  const store = memoryStore()
  const events = await open(store)
  const good = '{"tags":[],"payload":1}'
  const cases: [string, string][] = [
    ['', 'EOF while parsing a value at line 1 column 0'],
    ['[]', 'invalid type: sequence, expected struct PublishRequest at line 1 column 1'],
    ['{}', 'missing field `data` at line 1 column 2'],
    ['{"data":null}', 'invalid type: null, expected a sequence at line 1 column 9'],
    ['{"data":[],"data":[]}', 'duplicate field `data` at line 1 column 19'],
    ['{"data":[],"d\\u0061ta":[]}', 'duplicate field `data` at line 1 column 24'],
    ['{"data":[]} x', 'trailing characters at line 1 column 13'],
    [`{"data":[${good},1]}`, 'invalid type: number, expected struct PublishEvent at line 1 column 34'],
    [`{"data":[${good},{"payload":1}]}`, 'missing field `tags` at line 1 column 46'],
    [`{"data":[${good},\n{"tags":[]}]}`, 'missing field `payload` at line 2 column 11'],
    [`{"data":[{"tags":[],"tags":[],"payload":1}]}`, 'duplicate field `tags` at line 1 column 28'],
    [`{"data":[{"tags":[],"payload":1,"payload":1}]}`, 'duplicate field `payload` at line 1 column 43'],
    [`{"data":[{"tags":["a",1],"payload":1}]}`, 'invalid type: number, expected a string at line 1 column 23'],
    [`{"data":[{"tags":null,"payload":1}]}`, 'invalid type: null, expected a sequence at line 1 column 18'],
    [`{"data":[{"tags":[""],"payload":1}]}`, 'invalid value: expected non-empty string at line 1 column 20'],
    [`{"data":[{"tags":["\\ud800"],"payload":1}]}`, 'lone surrogate in hex escape at line 1 column 20'],
    [`{"data":[{"tags":[],"payload":1e999}]}`, 'number out of range at line 1 column 31'],
    [`{"data":[${good}`, 'EOF while parsing: expected `,` or `]` at line 1 column 32'],
  ]
  for (const [text, message] of cases)
    await assert.rejects(events.publish(app, Buffer.from(text)), { name: 'JsonError', message })
  assert.deepEqual(await stored(store), [])
})

test('unknown members are ignored, whatever their value', async () => {
  const store = memoryStore()
  const events = await open(store)
  const text = `{"a":{"data":[]},"data":[{"x":[{"tags":1}],"payload":1,"tags":["t"],"appId":"y"}],"z":null}`
  await events.publish(app, Buffer.from(text))
  const [line = ''] = await stored(store)
  assert.equal((JSON.parse(line) as Line).appId, app)
})

test('a request that exceeds a limit is refused with the name of the limit', async () => {
  const store = memoryStore()
  const events = await open(store)
  const repeated = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)
  const event = { tags: ['t'], payload: 1 }
  const tagsOf = (count: number) => Array.from({ length: count }, (_, i) => `t${i}`)
  const nested = (depth: number) => `{"data":[{"tags":[],"payload":${'['.repeat(depth)}${']'.repeat(depth)}}]}`
  const within = [
    body(repeated(limits.eventsPerPublish, event)),
    body([{ tags: tagsOf(format.tagsPerEvent), payload: 1 }]),
    body([{ tags: ['x'.repeat(format.tagBytes), 'ü'.repeat(format.tagBytes / 2)], payload: 1 }]),
    Buffer.from(nested(format.jsonNesting)),
    body([{ tags: [], payload: 'x'.repeat(format.payloadBytes - 2) }]),
  ]
  for (const request of within) await events.publish(app, request)
  const count = (await stored(store)).length
  const beyond: [Buffer, RegExp][] = [
    [body(repeated(limits.eventsPerPublish + 1, event)), /^more than 20000 events in one call/],
    [body([{ tags: tagsOf(format.tagsPerEvent + 1), payload: 1 }]), /^more than 128 tags of one event/],
    [body([{ tags: ['x'.repeat(format.tagBytes + 1)], payload: 1 }]), /^a tag of more than 1024 bytes/],
    [body([{ tags: ['ü'.repeat(format.tagBytes / 2 + 1)], payload: 1 }]), /^a tag of more than 1024 bytes/],
    [Buffer.from(nested(format.jsonNesting + 1)), /^more than 512 levels of nesting/],
    [body([{ tags: [], payload: 'x'.repeat(format.payloadBytes - 1) }]), /^Payload too large \(8388609 > 8388608\)/],
  ]
  for (const [request, message] of beyond) await assert.rejects(events.publish(app, request), { message })
  assert.equal((await stored(store)).length, count)
})

test('a publish beyond the queue limit is refused as overloaded, and accepted again afterwards', async () => {
  const slow = new SlowStore()
  const events = await open(slow.store)
  const one = body([{ tags: ['t'], payload: 1 }])
  const waiting = Array.from({ length: limits.queuedPublishes }, () => events.publish(app, one))
  await assert.rejects(events.publish(app, one), {
    code: 'ERR_SERVICE_OVERLOADED',
    message: 'Service overloaded. Channel towards event store is overloaded.',
  })
  while (slow.waiting.length < waiting.length) await new Promise((resolve) => setImmediate(resolve))
  slow.release()
  await Promise.all(waiting)
  const again = events.publish(app, one)
  while (slow.waiting.length === 0) await new Promise((resolve) => setImmediate(resolve))
  slow.release()
  await again
  assert.equal((await stored(slow.inner)).length, limits.queuedPublishes + 1)
})

test('concurrent small requests keep their own events', async () => {
  const store = memoryStore()
  const events = await open(store)
  const texts = Array.from({ length: 50 }, (_, i) => `${i}${'x'.repeat(11 * i)}`)
  const isBad = (i: number): boolean => i % 5 === 4
  await Promise.all(
    texts.map((payload, i) => {
      const published = events.publish(app, body([{ tags: [`t${i}`], payload }, ...(isBad(i) ? [{}] : [])]))
      return isBad(i) ? assert.rejects(published) : published
    }),
  )
  const lines = (await stored(store)).map((line) => JSON.parse(line) as Line)
  assert.deepEqual(
    lines.map(({ tags, payload }) => ({ tags, payload })),
    texts.flatMap((payload, i) => (isBad(i) ? [] : [{ tags: [`t${i}`], payload }])),
  )
})

test('a publish beyond the limit of queued bytes is refused as overloaded', async () => {
  const slow = new SlowStore()
  const events = await open(slow.store)
  const large = body([{ tags: [], payload: 'x'.repeat(format.payloadBytes - 2) }])
  const fitting = Math.floor(limits.queuedPublishBytes / (format.payloadBytes + 64))
  const waiting = Array.from({ length: fitting }, () => events.publish(app, large))
  while (slow.waiting.length < fitting) await new Promise((resolve) => setImmediate(resolve))
  await assert.rejects(events.publish(app, large), { code: 'ERR_SERVICE_OVERLOADED' })
  slow.release()
  await Promise.all(waiting)
})

test('requests after the shutdown began are refused with ERR_SHUTTING_DOWN', async () => {
  const events = await open(memoryStore())
  await events.close()
  await assert.rejects(events.publish(app, body([{ tags: [], payload: 1 }])), { code: 'ERR_SHUTTING_DOWN' })
  await assert.rejects(events.offsets(), { code: 'ERR_SHUTTING_DOWN' })
})

test('a body of any size is published as a whole or not at all, also when the error is at its end', async () => {
  const payload = 'x'.repeat(190)
  const list = (count: number): string =>
    Array.from({ length: count }, (_, i) => `{"tags":["t:${i % 7}"],"payload":{"n":${i},"p":"${payload}"}}`).join(',')
  const store = memoryStore()
  const events = await open(store)
  const ends = [']', '],"data":[]}', ',{"tags":[""],"payload":1}]}', ',{"tags":["a"]}]}', ']}x', ',{}]}']
  // Few events, and more than are scanned in one slice.
  for (const count of [1, 200, 400, 3000, 6000]) {
    const before = (await stored(store)).length
    for (const end of ends) await assert.rejects(events.publish(app, Buffer.from(`{"data":[${list(count)}${end}`)))
    assert.equal((await stored(store)).length, before)
    const response = JSON.parse(String(await events.publish(app, Buffer.from(`{"data":[${list(count)}]}`)))) as {
      data: Line[]
    }
    const lines = (await stored(store)).slice(before).map((line) => JSON.parse(line) as Line)
    assert.deepEqual(
      lines.map(({ payload }) => (payload as { n: number }).n),
      Array.from({ length: count }, (_, i) => i),
    )
    assert.deepEqual(
      response.data,
      lines.map(({ lamport, stream, offset, timestamp }) => ({ lamport, stream, offset, timestamp })),
    )
  }
})
