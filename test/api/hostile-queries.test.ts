import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { sqliteStore, startApi, type TestApi } from '../support/api.ts'

const features = 'FEATURES(subQuery interpolation) '
const pairs = (pair: (at: number) => string) => Array.from({ length: 12 }, (_, at) => pair(at)).join('&')

/** A query of maximum length: repeats `part`. */
function ofMaximumLength(before: string, part: string, after: string): string {
  return before + part.repeat(Math.floor((limits.queryBytes - before.length - after.length) / part.length)) + after
}

/** Queries that once blocked a thread for a second or more in one step: planning, reading tags, parsing, compiling. */
const hostile: Readonly<Record<string, string>> = {
  'tags that are the same for each event': `${features}FROM 'x' SELECT FROM ${pairs(() => '(`a`|`b`)')}`,
  'thousands of combinations of tags for each event': `${features}FROM 'x' SELECT FROM ${pairs((at) => `(\`a${at}{_}\`|\`b${at}{_}\`)`)}`,
  'thousands of combinations of tags': `${features}FROM 'x' SELECT FROM ${pairs((at) => `('a${at}'|'b${at}')`)}`,
  'a long array': ofMaximumLength("FROM 'x' SELECT [1", ',1', ']'),
  'a long condition': ofMaximumLength("FROM 'x' FILTER TRUE", '&_>1', ''),
  'many tags': ofMaximumLength("FROM 'x'", "|'a'&'b'", ''),
}

async function start(t: TestContext): Promise<TestApi> {
  const api = await startApi(t, { store: await sqliteStore(t) })
  const data = Array.from({ length: 5000 }, (_, i) => ({ tags: ['x', `id:${i}`], payload: i }))
  for (let i = 0; i < 4; i++) assert.equal((await api.publish(JSON.stringify({ data }))).status, 200)
  return api
}

function query(api: TestApi, text: string, signal?: AbortSignal): Promise<Response> {
  return api.call('/api/v2/events/query', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: text, order: 'asc' }),
    ...(signal && { signal }),
  })
}

/** Reads a response to its end, unless the test aborts it. */
async function drain(response: Promise<Response>): Promise<void> {
  const { body } = await response
  for await (const _ of body ?? []);
}

async function answersDuring(t: TestContext, texts: readonly string[]): Promise<void> {
  const api = await start(t)
  const end = new AbortController()
  t.after(() => end.abort())
  let ended = 0
  const running = texts.map((text) =>
    drain(query(api, text, end.signal)).then(
      () => ended++,
      () => {},
    ),
  )
  for (let i = 0; i < 5; i++) {
    const lines = (await (await query(api, "FROM 'nothing'")).text()).trimEnd().split('\n')
    assert.equal(lines.length, 1)
    assert.match(lines[0] ?? '', /^\{"type":"offsets"/)
  }
  assert.equal(ended, 0, 'all hostile queries are still running')
  end.abort()
  await Promise.all(running)
}

test('an empty query completes while thirty hostile queries run', async (t) => {
  const texts = Object.values(hostile)
  await answersDuring(
    t,
    Array.from({ length: 30 }, (_, i) => texts[i % 3] as string),
  )
})

test('an empty query completes while queries of maximum length are parsed, compiled and run', async (t) => {
  await answersDuring(t, Object.values(hostile))
})

for (const name of ['a long array', 'a long condition', 'many tags']) {
  test(`a short query sent after one with ${name} completes before that one starts`, async (t) => {
    const { events } = await start(t)
    const request = (text: string) =>
      ({
        query: text,
        appId: 'com.example.test',
        via: 'http',
        order: 'asc',
        lowerBound: {},
        upperBound: undefined,
      }) as const
    const long = events.query(request(hostile[name] as string))
    const order: string[] = []
    const begun = long.started.then(() => order.push('long query has started'))
    const short = events.query(request("FROM 'nothing'"))
    await Array.fromAsync(short)
    order.push('short query has ended')
    await begun
    long.cancel()
    assert.deepEqual(order, ['short query has ended', 'long query has started'])
  })
}

test('a short query sent after the validation of a long one completes first', async (t) => {
  const { events } = await start(t)
  const order: string[] = []
  const text = hostile['a long condition'] as string
  const checked = events
    .validate({ query: text, appId: 'com.example.test', via: 'http', endpoint: 'query' })
    .finally(() => order.push('check'))
  const short = events.query({
    query: "FROM 'nothing'",
    appId: 'com.example.test',
    via: 'http',
    order: 'asc',
    lowerBound: {},
    upperBound: undefined,
  })
  await Array.fromAsync(short)
  order.push('short query')
  const { valid } = JSON.parse(await checked) as { valid: boolean }
  assert.equal(valid, true)
  assert.deepEqual(order, ['short query', 'check'])
})

test('a syntax error in a long query is reported, and a query cancelled while it is parsed ends', async (t) => {
  const api = await start(t)
  const refused = await query(api, ofMaximumLength("FROM 'x' SELECT [1", ',1', ' ?'))
  assert.equal(refused.status, 400)
  assert.match(await refused.text(), /-->/)
  const cancelled = api.events.query({
    query: hostile['a long array'] as string,
    appId: 'com.example.test',
    via: 'http',
    order: 'asc',
    lowerBound: {},
    upperBound: undefined,
  })
  cancelled.cancel()
  await cancelled.ended
  assert.equal((await query(api, "FROM 'nothing'")).status, 200)
})
