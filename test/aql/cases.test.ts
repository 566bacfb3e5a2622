import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkUse, type Endpoint, type Feature } from '../../src/aql/features.ts'
import {
  AqlError,
  checkFeatures,
  inlineEvents,
  isAppId,
  parseExpr,
  parseQuery,
  parseTagExpr,
  print,
  printExpr,
  printTagExpr,
  usedFeatures,
} from '../../src/aql/index.ts'
import { type Case, casesOf, kinds } from './cases.ts'

const options = { now: 1_700_000_000_000_000n }

/** The canonical texts of intended deviations. */
const deviations: Readonly<Record<string, string>> = {
  'expr-literal-1.0': '1.0',
  "parse: FROM 'x' SELECT x[1.0]": "FROM 'x' SELECT x[(1.0)] END",
}

/** Kinds of cases that test evaluation, not parsing; the evaluation tests run them. */
const evaluated = new Set([
  ...['query', 'subscribe', 'subscribeMonotonic', 'expr', 'exprError', 'feed', 'aggregate', 'doneAfterOne'],
  ...['preferredOrder', 'tagMatch', 'tagQuery', 'dnf', 'rangeQuery', 'wire'],
])
/** Kinds of cases that test server responses. Their texts are checked here, their status in the server tests. */
const served = new Set(['http', 'ws', 'subscribeError', 'cli'])
const read = new Set([
  ...['parse', 'parseExpr', 'tagExpr', 'render', 'parseError', 'parseExprError', 'tagExprTime', 'timestamp', 'pragma'],
  ...['order', 'features', 'featureCheck', 'appIdSyntax', 'robustness'],
])

function canonical({ kind, query }: Case): string {
  if (kind === 'parseExpr') return printExpr(parseExpr(query, options))
  if (kind === 'tagExpr') return printTagExpr(parseTagExpr(query, options))
  return print(parseQuery(query, options))
}

function detailOf(run: () => unknown): string {
  try {
    run()
  } catch (thrown) {
    assert.ok(thrown instanceof AqlError, String(thrown))
    return thrown.detail
  }
  return assert.fail('it was parsed as a query')
}

test('every kind of case is assigned to a test', () => {
  for (const kind of kinds) assert.ok(read.has(kind) || evaluated.has(kind) || served.has(kind), kind)
})

test('a valid text has a canonical text, which is a fixed point of parsing and printing', () => {
  for (const each of casesOf('parse', 'parseExpr', 'tagExpr', 'render')) {
    const text = canonical(each)
    if (each.deviation !== undefined) assert.equal(each.deviation, 'R6', each.name)
    assert.equal(text, deviations[each.name] ?? each.expect.canonical ?? text, each.name)
    assert.equal(canonical({ ...each, query: text }), text, each.name)
  }
})

test('an invalid text is rejected with its position and the expected rules', () => {
  for (const { name, kind, query, expect } of casesOf('parseError', 'parseExprError')) {
    const detail = detailOf(() => (kind === 'parseError' ? parseQuery(query, options) : parseExpr(query, options)))
    if (expect.match === 'exact') assert.equal(detail, expect.error, name)
    else assert.ok(detail.includes(expect.error), `${name}: ${detail}`)
  }
})

test('a relative time is resolved against the given time', () => {
  for (const { name, query, now, expect } of casesOf('tagExprTime')) {
    const comparison = `${expect.bound === 'lower' ? '>' : '<'}${expect.inclusive ? '=' : ''}`
    const atom = parseTagExpr(query, { now: BigInt(now as number) })
    assert.deepEqual(atom, { kind: 'time', comparison, time: BigInt(expect.micros) }, name)
  }
})

test('an instant literal is parsed to microseconds', () => {
  for (const { name, query, expect } of casesOf('timestamp')) {
    assert.deepEqual(parseExpr(`TIME(${query})`, options), { kind: 'timeLiteral', time: BigInt(expect.micros) }, name)
  }
})

test('pragmas have a name and a raw value', () => {
  for (const { name, query, expect } of casesOf('pragma')) {
    const pragmas = parseQuery(query, options).pragmas.map((pragma) => [pragma.name, pragma.value])
    assert.deepEqual(pragmas, expect.pragmas, name)
  }
})

test('ORDER is parsed; without it the order is undefined', () => {
  for (const { name, query, expect } of casesOf('order')) {
    const { source } = parseQuery(query, options)
    assert.equal(source.kind === 'events' ? (source.order ?? null) : undefined, expect, name)
  }
})

test('used features are detected, including those of nested queries', () => {
  for (const { name, query, expect } of casesOf('features')) {
    assert.deepEqual(usedFeatures(parseQuery(query, options)), expect.used, name)
  }
})

const endpoints: Readonly<Record<string, Endpoint>> = {
  Query: 'query',
  Subscribe: 'subscribe',
  SubscribeMonotonic: 'subscribe_monotonic',
}

test('an endpoint rejects unsupported features and beta features that are not enabled', () => {
  for (const { name, query, used, enabled, endpoint, expect } of casesOf('featureCheck')) {
    const at = endpoints[endpoint as string] ?? 'query'
    const problem =
      used === undefined
        ? checkFeatures(parseQuery(query, options), at)
        : checkUse(used as readonly Feature[], enabled as readonly string[], at)
    const message = expect.unsupported
      ? `Feature \`${expect.unsupported}\` is not supported on endpoint \`${expect.endpoint}\`.`
      : expect.message
    assert.equal(problem?.message, message, name)
    assert.equal(problem?.kind, expect === 'ok' ? undefined : expect.message ? 'notEnabled' : 'unsupported', name)
  }
})

test('an app ID is a list of words separated by dots', () => {
  for (const { name, query, expect } of casesOf('appIdSyntax')) assert.equal(isAppId(query), expect, name)
})

/** R12: the reference names a different endpoint than the requested one. */
const monotonicArray = 'Feature `fromArray` is not supported on endpoint `SubscribeMonotonic`.'

test('an HTTP request with an invalid query is rejected with the recorded message', () => {
  for (const { name, query, endpoint = 'subscribe', expect, deviation } of casesOf('http', 'subscribeError')) {
    const { code, message } = expect.body ?? expect
    if (code !== 'ERR_BAD_REQUEST' && code !== 'ERR_UNSUPPORTED_FEATURE') continue
    const problem = problemOf(query, endpoint as Endpoint)
    // The rest are missing or invalid request fields, and by R9 branches that differ.
    if (problem === undefined) assert.match(message, deviation === 'R9' ? /all branches$/ : /field|bounds/, name)
    else assert.equal(problem, deviation === 'R12' ? monotonicArray : message, name)
  }
})

function problemOf(query: string, endpoint: Endpoint): string | undefined {
  try {
    const problem = checkFeatures(parseQuery(query, options), endpoint)
    return problem?.kind === 'notEnabled' ? `Invalid request. ${problem.message}` : problem?.message
  } catch (thrown) {
    assert.ok(thrown instanceof AqlError, String(thrown))
    return `Invalid request. ${thrown.detail}`
  }
}

test('WebSocket and command line reject an invalid query with the recorded message', () => {
  for (const { name, kind, query, expect } of casesOf('ws', 'cli')) {
    const text = kind === 'cli' ? expect.json.message : expect[0].kind?.value
    assert.equal(socketProblemOf(query), text, name)
  }
})

function socketProblemOf(query: string): string | undefined {
  try {
    return checkFeatures(parseQuery(query, options), 'query')?.socketMessage
  } catch (thrown) {
    assert.ok(thrown instanceof AqlError, String(thrown))
    return `Invalid request. ${thrown.detail}`
  }
}

test('a query that crashes the reference is parsed or rejected', () => {
  for (const { name, query, deviation } of casesOf('robustness')) {
    const run = robust[name]
    assert.ok(run, `${name} (${deviation}) has no check`)
    run(query)
  }
})

const robust: Readonly<Record<string, (query: string) => void>> = {
  // R1 is about running it, which the tests of the evaluation do.
  'reference-crashes: mod-zero': (query) => void parseQuery(query, options),
  'reference-crashes: impossible-date': (query) =>
    assert.equal(
      detailOf(() => parseQuery(query, options)),
      'invalid date 2021-02-30: that month has 28 days',
    ),
  'reference-crashes: long-or-chain': () => {
    const tags = Array.from({ length: 10_000 }, (_, i) => `'x${i}'`)
    const { source } = parseQuery(`FROM ${tags.join(' | ')}`, options)
    assert.equal(source.kind === 'events' && source.tags.kind === 'chain' && source.tags.rest.length, 9_999)
  },
  'reference-405: pragma-events-malformed': (query) =>
    assert.match(
      detailOf(() => inlineEvents(parseQuery(query, options), options.now)),
      /^PRAGMA events, line 1: /,
    ),
  // R14 is about opening the source, which the tests of the server do.
  'reference-405: subscribe-interpolation-unbound': (query) => void parseQuery(query, options),
}
