import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkUse, type Endpoint, type Feature } from '../../src/aql/features.ts'
import {
  AqlError,
  checkFeatures,
  givenEvents,
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

/** What shoal says instead, where it differs on purpose. */
const deviations: Readonly<Record<string, string>> = {
  'expr-literal-1.0': '1.0',
  "parse: FROM 'x' SELECT x[1.0]": "FROM 'x' SELECT x[(1.0)] END",
}

/** Kinds that say what a query does, not how it reads; the tests of the evaluation have them. */
const evaluated = new Set([
  ...['query', 'subscribe', 'subscribeMonotonic', 'expr', 'exprError', 'feed', 'aggregate', 'doneAfterOne'],
  ...['preferredOrder', 'tagMatch', 'tagQuery', 'dnf', 'rangeQuery', 'wire'],
])
/** Kinds that say what a server answers; their texts are checked here, their status where the server is tested. */
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
  return assert.fail('it was taken for a query')
}

test('every kind of case has its place', () => {
  for (const kind of kinds) assert.ok(read.has(kind) || evaluated.has(kind) || served.has(kind), kind)
})

test('what can be read has a canonical text, which reads the same', () => {
  for (const each of casesOf('parse', 'parseExpr', 'tagExpr', 'render')) {
    const text = canonical(each)
    if (each.deviation !== undefined) assert.equal(each.deviation, 'R6', each.name)
    assert.equal(text, deviations[each.name] ?? each.expect.canonical ?? text, each.name)
    assert.equal(canonical({ ...each, query: text }), text, each.name)
  }
})

test('what cannot be read is told with the place and what was expected there', () => {
  for (const { name, kind, query, expect } of casesOf('parseError', 'parseExprError')) {
    const detail = detailOf(() => (kind === 'parseError' ? parseQuery(query, options) : parseExpr(query, options)))
    if (expect.match === 'exact') assert.equal(detail, expect.error, name)
    else assert.ok(detail.includes(expect.error), `${name}: ${detail}`)
  }
})

test('a time that is some time ago is counted from the given one', () => {
  for (const { name, query, now, expect } of casesOf('tagExprTime')) {
    const comparison = `${expect.bound === 'lower' ? '>' : '<'}${expect.inclusive ? '=' : ''}`
    const atom = parseTagExpr(query, { now: BigInt(now as number) })
    assert.deepEqual(atom, { kind: 'time', comparison, time: BigInt(expect.micros) }, name)
  }
})

test('an instant is a number of microseconds', () => {
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

test('the order is what the text says', () => {
  for (const { name, query, expect } of casesOf('order')) {
    const { source } = parseQuery(query, options)
    assert.equal(source.kind === 'events' ? (source.order ?? null) : undefined, expect, name)
  }
})

test('features are found wherever they are used', () => {
  for (const { name, query, expect } of casesOf('features')) {
    assert.deepEqual(usedFeatures(parseQuery(query, options)), expect.used, name)
  }
})

const endpoints: Readonly<Record<string, Endpoint>> = {
  Query: 'query',
  Subscribe: 'subscribe',
  SubscribeMonotonic: 'subscribe_monotonic',
}

test('an endpoint takes only what it knows, and beta features only if they are named', () => {
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

test('the ID of an app is words with dots between them', () => {
  for (const { name, query, expect } of casesOf('appIdSyntax')) assert.equal(isAppId(query), expect, name)
})

/** R12: the reference names another endpoint than the one that was asked. */
const monotonicArray = 'Feature `fromArray` is not supported on endpoint `SubscribeMonotonic`.'

test('a request is answered with what is wrong with its query', () => {
  for (const { name, query, endpoint = 'subscribe', expect, deviation } of casesOf('http', 'subscribeError')) {
    const { code, message } = expect.body ?? expect
    if (code !== 'ERR_BAD_REQUEST' && code !== 'ERR_UNSUPPORTED_FEATURE') continue
    const problem = problemOf(query, endpoint as Endpoint)
    // What is left are fields of the request that are missing or wrong, and by R9 branches that differ.
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

test('a WebSocket and the command line say the same in their own way', () => {
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

test('what terminates the reference is an error or no problem at all', () => {
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
      detailOf(() => givenEvents(parseQuery(query, options), options.now)),
      /^PRAGMA events, line 1: /,
    ),
  // R14 is about opening the source, which the tests of the server do.
  'reference-405: subscribe-interpolation-unbound': (query) => void parseQuery(query, options),
}
