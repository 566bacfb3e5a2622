import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AqlError,
  checkFeatures,
  inlineEvents,
  parseQuery,
  parseTagExpr,
  print,
  usedFeatures,
} from '../../src/aql/index.ts'

const now = 1_700_000_000_000_000n
const options = { now }

function errorOf(text: string): AqlError {
  try {
    parseQuery(text, options)
  } catch (thrown) {
    if (thrown instanceof AqlError) return thrown
    throw thrown
  }
  return assert.fail(`\`${text}\` was taken for a query`)
}

const notHere = 'aggregators are only valid in AGGREGATE clauses'
const noCurrent = 'current value _ not available in AGGREGATE clauses'
const tooLarge = 'number too large to fit in target type'

test('an aggregator outside of AGGREGATE is rejected', () => {
  for (const text of [
    "FROM 'a' AGGREGATE [1, MAX(2 + MIN(_))]",
    "FROM 'a' AGGREGATE (FROM 'b' SELECT SUM(_))[0]",
    "FROM 'a' AGGREGATE FROM `{SUM(1)}`",
    // R11
    "FROM 'a' AGGREGATE FROM [SUM(_)]",
    'FROM [SUM(1)]',
    'FROM `{LAST(x)}`',
  ])
    assert.equal(errorOf(text).detail, notHere, text)
  parseQuery("FROM 'a' SELECT FROM 'b' AGGREGATE { a: [SUM(_)], b: !LAST(_.x) ?? `{MIN(_)}` }", options)
})

test('the current value in AGGREGATE is rejected outside of aggregators and nested queries', () => {
  for (const text of [
    "FROM 'a' AGGREGATE [_]",
    "FROM 'a' AGGREGATE SUM(1) + _.x",
    "FROM 'a' AGGREGATE TAGS(_)",
    "FROM 'a' AGGREGATE FROM [_]",
  ])
    assert.equal(errorOf(text).detail, noCurrent, text)
  for (const text of [
    "FROM 'a' AGGREGATE FROM 'b' FILTER _ SELECT _",
    "FROM 'a' AGGREGATE FROM `{_}`",
    "FROM 'a' AGGREGATE SUM(_ + (FROM [_])[0])",
    "FROM 'a' AGGREGATE { a: x, _: 1 }",
  ])
    parseQuery(text, options)
})

test('the first static error in the text is reported with its position', () => {
  const text = "FROM 'a' SELECT x[18446744073709551616], `{U+d800}` FILTER SUM(1) LIMIT 99999999999999999999"
  assert.deepEqual([errorOf(text).detail, errorOf(text).position], [tooLarge, text.indexOf('[')])
  const second = text.replace('18446744073709551616', '1')
  assert.equal(errorOf(second).detail, 'invalid unicode scalar value `U+d800`')
  const third = second.replace('U+d800', 'U+41')
  assert.deepEqual([errorOf(third).detail, errorOf(third).position], [notHere, third.indexOf('SUM')])
  const fourth = third.replace('SUM(1)', 'x')
  assert.equal(errorOf(fourth).detail, tooLarge)
  assert.equal(errorOf(fourth).kind, 'static')
  assert.equal(errorOf(`${text} ?`).kind, 'syntax')
})

test('a number beyond 64 bits is rejected only where a natural is required', () => {
  for (const text of ['KEY > 18446744073709551616', 'from(18446744073709551616)', 'TIME > 18446744073709551616s ago'])
    assert.equal(errorOf(`FROM ${text}`).detail, tooLarge, text)
  for (const text of ['x[18446744073709551616 + 1]', '18446744073709551616', 'x[0018446744073709551615]'])
    parseQuery(`FROM 'a' SELECT ${text}`, options)
})

test('an invalid date is rejected, and a time before 1970 is clamped to the epoch', () => {
  for (const date of ['2021-02-29', '1900-02-29', '2021-04-31', '0000-11-31'])
    assert.match(errorOf(`FROM TIME > ${date}Z`).detail, new RegExp(`^invalid date ${date}: `))
  for (const date of ['1960-01-01Z', '0000-01-01Z', '1970-01-01+01:00', '1970-01-01Z'])
    assert.deepEqual(parseTagExpr(`TIME > ${date}`, options), { kind: 'time', comparison: '>', time: 0n })
  assert.deepEqual(parseTagExpr('TIME > 99999Y ago', options), { kind: 'time', comparison: '>', time: 0n })
})

test('the code frame of an error counts lines and code points from 1', () => {
  assert.equal(
    errorOf("FROM 'x'\n\n\n\n\n\n\n\n\n\tLET 🐟 := 1").detail,
    '  --> 10:6\n   |\n10 | \tLET 🐟 := 1\n   | \t    ^---\n   |\n   = expected ident',
  )
  assert.match(errorOf("FROM '🐟' LIMIT 0").detail, /^ --> 1:16\n/)
  // A line break at the error position is made visible.
  assert.equal(
    errorOf("FROM 'x' SELECT 1 FILTER TIME(2020-01-01\r\n)").detail.split('\n').slice(0, 4).join('\n'),
    " --> 1:41\n  |\n1 | FROM 'x' SELECT 1 FILTER TIME(2020-01-01␍␊\n  |                                         ^---",
  )
  assert.match(errorOf("FROM 'x' SELECT\n").detail, /^ --> 2:1\n {2}\|\n2 \| \n {2}\| \^---\n/)
})

test('a subscription rejects an array source before other features', () => {
  const query = parseQuery('FROM [1, ...x] SELECT 1, 2', options)
  assert.equal(
    checkFeatures(query, 'subscribe_monotonic')?.socketMessage,
    'Feature(s) `fromArray` are not supported on endpoint SubscribeMonotonic.',
  )
  assert.equal(
    checkFeatures(query, 'query')?.message,
    'The query uses beta features that are not enabled: multiEmission fromArray spread.',
  )
})

test('a spread in a nested array source uses the feature spread', () => {
  assert.deepEqual(usedFeatures(parseQuery("FROM 'a' SELECT FROM [...x]", options)), [
    'subQuery',
    'fromArray',
    'spread',
  ])
})

test('variable names and tags are normalised to NFC, property names are not', () => {
  const decomposed = 'e\u0301'
  assert.equal(
    print(parseQuery(`FROM '${decomposed}' SELECT x['${decomposed}']`, options)),
    `FROM 'é' SELECT x['${decomposed}'] END`,
  )
})

const given = (lines: string) => inlineEvents(parseQuery(`PRAGMA events\n${lines}\nENDPRAGMA\nFROM 'a'`, options), now)

test('an inline event keeps its payload verbatim', () => {
  assert.deepEqual(
    given(
      [
        '{"payload": {"a": [2.0, 1e300, "},\\""] , "payload": 1}, "tags": ["a", "e\u0301"], "x": {"payload": 3}}',
        '',
        ' {"payload":null,"appId":"com.example","timestamp":5,"time":"2020-01-01"} ',
        '{"time":"1970-01-02","payload":1}',
        '{"time":"1970-01-01T01:00:00.5+01:00","payload":1}',
        '{"time":"whenever","payload":1}',
      ].join('\n'),
    ),
    [
      { payload: '{"a": [2.0, 1e300, "},\\""] , "payload": 1}', tags: ['a', 'é'], appId: 'com.actyx.test', time: now },
      { payload: 'null', tags: [], appId: 'com.example', time: 5n },
      { payload: '1', tags: [], appId: 'com.actyx.test', time: 86_400_000_000n },
      { payload: '1', tags: [], appId: 'com.actyx.test', time: 500_000n },
      { payload: '1', tags: [], appId: 'com.actyx.test', time: now },
    ],
  )
  assert.equal(inlineEvents(parseQuery("FROM 'a'", options), now), undefined)
})

test('the tags of an inline event are deduplicated and sorted by bytes', () => {
  const [event] =
    given(JSON.stringify({ payload: 1, tags: ['\u{1f600}', 'b', 'é', '\ufffd', 'a', 'e\u0301', 'Z', 'b'] })) ?? []
  assert.deepEqual(event?.tags, ['Z', 'a', 'b', 'é', '\ufffd', '\u{1f600}'])
})

test('a malformed inline event is rejected with its line number', () => {
  for (const [line, reason] of [
    ['nope', /line 2: .*JSON/],
    ['[1]', /line 2: it is not a JSON object$/],
    ['{}', /line 2: there is no `payload`$/],
    ['{"payload":1,"tags":[""]}', /line 2: `tags` has to be/],
    ['{"payload":1,"tags":"a"}', /line 2: `tags` has to be/],
    ['{"payload":1,"appId":"A"}', /line 2: `appId` has to be/],
    ['{"payload":1,"timestamp":1.5}', /line 2: `timestamp` has to be/],
  ] as const)
    assert.throws(() => given(`{"payload":1}\n${line}`), { name: 'AqlError', detail: reason })
})
