import { format } from '../../../src/base/format.ts'
import { formatPublicKey, KeyPair } from '../../../src/identity/index.ts'
import type { Json, JsonObject, Scope } from '../../../src/settings/index.ts'
import * as fc from '../../support/property.ts'

// Generators of valid and invalid (`no…`) values for every row of the specification's tables. Only the model decides
// what is valid: by chance an "invalid" value may be valid.

export type Values = fc.Arbitrary<Json>

/** A weighted choice of generators. */
export function mix<T>(...choices: [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

const among = (...values: Json[]): Values => fc.constantFrom(...values)

/** Sets any own property, including `__proto__`. */
function objects(names: fc.Arbitrary<string>, values: Values): fc.Arbitrary<JsonObject> {
  return fc.array(fc.tuple(names, values), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))
}

const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
const oddNames = [...inherited, '', ' ', '~', '~1', 'a/b', 'ä', '名前', '😀', '\ud800', '\0', 'length']
export const names = mix([3, fc.constantFrom('a', 'b', '0', '1')], [1, fc.constantFrom(...oddNames)])
const strings = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 })

export const { json: anyJson } = fc.letrec<{ json: Json; list: Json[]; object: JsonObject }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: among(null, true, false, 0, -0, 1, -1.5, 1e308, 2 ** 53, '', 'x', '\ud800', '\0') },
    { weight: 1, arbitrary: tie('list') },
    { weight: 2, arbitrary: tie('object') },
  ),
  list: fc.array(tie('json'), { maxLength: 3 }),
  object: objects(names, tie('json')),
}))

/** A scope with generators of valid and invalid values. */
export interface Row {
  readonly scope: Scope
  readonly right: Values
  readonly wrong: Values
}

const row = (path: string, right: Values, wrong: Values): Row => ({ scope: path.split('/'), right, wrong })

const counts = mix<Json>([3, fc.nat()], [1, among(0, -0, 2 ** 53, 1e308)])
const noCounts = among(-1, 1.5, -1e308, Number.NaN, Number.POSITIVE_INFINITY, '5', null, true, [], {})
const noTexts = among('', 1, null, true, [], {})
const noLists = among({}, 'x', 1, null, { 0: 'x' })
const noObjects = among([], 'x', 1, null, true)

const swarmKeys = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('base64'))
const noSwarmKeys = mix<Json>(
  [1, noTexts],
  [1, swarmKeys.map((key) => key.slice(1))],
  [1, swarmKeys.map((key) => `${key}=`)],
  [1, swarmKeys.map((key) => `-_${key.slice(2)}`)],
  [1, swarmKeys.map((key) => ` ${key.slice(1)}`)],
  [1, swarmKeys.map((key) => `${key.slice(0, 42)}B=`)],
  [1, fc.constant('!'.repeat(44))],
)

const peers = fc.constantFrom(
  '12D3KooWMYKNodABsgqNP1zTQD4b18MZTktKvGPZHVM5P5S579Dj',
  '12D3KooWD3eckifWpRn9wQpMG9R9hX3sD158z7EqHWmweQAJU5SA',
  'QmYyQSo1c1Ym7orWxLYvCrM2EmxFTANf8wXmmE7DWjhx5N',
)
export const places = fc
  .tuple(
    fc.constantFrom('/ip4/10.0.0.1', '/ip4/255.255.255.255', '/ip6/fd00::1', '/dns4/node.example.org', '/dns/ä'),
    fc.constantFrom('/tcp/4001', '/tcp/0', '/tcp/65535', '/udp/4001/quic-v1', '/tcp/443/ws'),
  )
  .map((parts) => parts.join(''))
const noPlaces = fc.constantFrom(
  ...['rubbish', '', '/', 'ip4/10.0.0.1/tcp/4001', '/ip4', '/ip4/10.0.0.1/tcp', '/ip4/999.0.0.1/tcp/4001'],
  ...['/ip4/::1/tcp/4001', '/ip6/10.0.0.1/tcp/4001', '/ip4/10.0.0.1/tcp/65536', '/ip4/10.0.0.1/tcp/-1', '/nope/1'],
  ...['//ip4/10.0.0.1/tcp/4001', '/ip4/10.0.0.1//tcp/4001', '/ip4/10.0.0.1/tcp/4001/'],
)
export const peerAddresses = fc.tuple(places, peers).map(([place, peer]) => `${place}/p2p/${peer}`)
export const noPeerAddresses = mix<Json>(
  [1, noTexts],
  [1, places],
  [1, fc.tuple(noPlaces, peers).map(([place, peer]) => `${place}/p2p/${peer}`)],
  [1, peerAddresses.map((address) => address.slice(0, -1))],
  [1, places.map((place) => `${place}/p2p/0OIl`)],
)
export const noAnnouncedAddresses = mix<Json>([1, noTexts], [1, peerAddresses], [1, noPlaces])

export const userKeys = fc
  .constantFrom(...Array.from({ length: 8 }, (_, i) => new KeyPair(Buffer.alloc(32, i)).publicKey))
  .map(formatPublicKey)
export const noUserKeys = mix<Json>(
  [1, noTexts],
  // Half of all 32-byte strings are points on the curve; the model knows which.
  [2, swarmKeys.map((key) => `0${key}`)],
  [1, userKeys.map((key) => `1${key.slice(1)}`)],
  [1, userKeys.map((key) => key.slice(1))],
  [1, fc.constantFrom(0, 1, 255).map((byte) => `0${Buffer.alloc(32, byte).toString('base64')}`)],
)

const licences = mix<Json>([1, among('development')], [1, among('x'.repeat(64), '😀'.repeat(64), 'x'.repeat(100))])
const noLicences = mix<Json>([1, noTexts], [1, among('testing', 'Development', 'x'.repeat(63), '😀'.repeat(63))])
export const appLicences = among('testing', 'x'.repeat(100), '😀'.repeat(100))
export const noAppLicences = mix<Json>([1, noTexts], [1, among('development', 'x'.repeat(99), '😀'.repeat(50))])
export const appIds = fc.constantFrom('com.example.a', 'a', 'A-b_9.c', ...inherited)
export const noAppIds = fc.constantFrom('', '.', 'a.', '.a', 'a..b', 'a b', 'ä', '~', 'a/b', 'a\n', '1111111111!')

export const streamNames = fc.constantFrom('default', 'a', 'A-b_9', '0', ...inherited)
export const noStreamNames = fc.constantFrom('', 'a b', 'ä', 'a.b', '~', 'a\n', '\ud800')
export const limitRows = [
  row('maxEvents', mix([2, counts], [1, among('0', null)]), mix([2, noCounts], [1, among('', '00', '5')])),
  row(
    'maxSize',
    among(0, -0, '0', null, '1', '10', '1B', '10kB', '2MB', '3GB', '4KiB', '5MiB', '6GiB', `${'9'.repeat(400)}B`),
    among('', '0B', '01MB', '1KB', '1.5MB', '10 MB', '-1B', '1TB', '1B\n', 100, true, [], {}),
  ),
  row(
    'maxAge',
    among(0, -0, '0', null, '10s', '60m', '24h', '30d', '52w', `${'9'.repeat(400)}w`),
    among('', '1h', '01h', '00s', '10', '10y', '10 h', '1.5h', '10H', '10h\n', 60, true, [], {}),
  ),
] as const
const limitsOf = (values: (row: Row) => Values): fc.Arbitrary<JsonObject> =>
  fc.subarray([...limitRows]).chain((chosen) => fc.tuple(...chosen.map(values)).map((all) => graftedAll(chosen, all)))
export const streamLimits = limitsOf(({ right }) => right)
const noStreamLimits = mix<Json>([1, noObjects], [2, limitsOf(({ wrong }) => wrong)], [1, objects(names, anyJson)])

const tags = fc.string({ unit: fc.constantFrom('a', ' ', 'ü', "''", '""', '|', '&', '('), minLength: 1, maxLength: 4 })
const quotedTags = mix([1, tags.map((tag) => `'${tag}'`)], [1, tags.map((tag) => `"${tag}"`)])
export const tagExpressions = fc
  .tuple(
    fc.constantFrom("'a'", '"a"', "'it''s'"),
    fc.array(fc.tuple(fc.constantFrom('|', '&', ' | ', ' &\n'), quotedTags), { maxLength: 3 }),
  )
  .map((parts) => parts.flat(2).join(''))
export const noTagExpressions = among(
  ...['', 'a', "'a", "a'", "''", "'a' &", "& 'a'", "'a' 'b'", "'a' )))", "('a')", "'it's'", 'allEvents', "'a' && 'b'"],
  ...[1, null, [], {}],
)
const routeOf = (from: Values, into: Values): fc.Arbitrary<JsonObject> =>
  // The order of members is insignificant, so both orders are generated.
  fc.tuple(from, into, fc.boolean()).map(([from, into, turned]) => (turned ? { into, from } : { from, into }))
export const routes = routeOf(tagExpressions, streamNames)
export const noRoutes = mix<Json>(
  [1, noObjects],
  [2, routeOf(noTagExpressions, streamNames)],
  [1, routeOf(tagExpressions, noStreamNames)],
  [1, routes.map(({ from = '' }) => ({ from }))],
  [1, fc.tuple(routes, names).map(([route, name]) => ({ ...route, [name]: 1 }))],
)

const uniqueLists = (items: Values): Values => fc.uniqueArray(items, { maxLength: 3 })
const wrongLists = (right: Values, wrong: Values): Values =>
  mix(
    [1, noLists],
    [2, fc.tuple(right, wrong).map(([first, second]) => [first, second])],
    [1, right.map((item) => [item, item])],
    [1, wrong.map((item) => [item])],
  )

/** An object of the given nesting depth. */
export function nested(depth: number): JsonObject {
  let value: Json = 1
  for (let level = 1; level < depth; level++) value = level % 2 === 0 ? { a: value } : [value]
  return { a: value }
}
/** The remaining nesting depth for `_internal`, which is three levels down. */
const internalLevels = format.jsonNesting - 3

const swarmRows = [
  row('swarm/swarmKey', swarmKeys, noSwarmKeys),
  row(
    'swarm/topic',
    mix([2, strings], [1, among('😀'.repeat(60))]),
    mix([1, noTexts], [1, among('x'.repeat(61), '😀'.repeat(61))]),
  ),
  row('swarm/initialPeers', uniqueLists(peerAddresses), wrongLists(peerAddresses, noPeerAddresses)),
  row('swarm/announceAddresses', uniqueLists(places), wrongLists(places, noAnnouncedAddresses)),
  ...['blockCacheCount', 'blockCacheSize', 'metricsInterval', 'pingTimeout', 'bitswapTimeout'].map((name) =>
    row(`swarm/${name}`, counts, noCounts),
  ),
  row(
    'swarm/blockGcInterval',
    mix([2, fc.integer({ min: 30 })], [1, among(30, 1e308)]),
    among(29, 0, -30, 30.5, '300'),
  ),
  row('swarm/mdns', fc.boolean(), among('true', 0, null, [])),
  ...['branchCacheSize', 'gossipInterval'].map((name) =>
    row(`swarm/${name}`, mix([2, fc.integer()], [1, counts]), among(0.5, Number.NaN, '1', null, [])),
  ),
  ...['detectionCyclesLowLatency', 'detectionCyclesHighLatency'].map((name) =>
    row(
      `swarm/${name}`,
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      among(Number.NaN, Number.NEGATIVE_INFINITY, '2', null, []),
    ),
  ),
]
export const rows: readonly Row[] = [
  ...swarmRows,
  row('admin/displayName', mix<Json>([2, strings], [1, fc.constantFrom(...inherited, '\ud800', '\0')]), noTexts),
  row(
    'admin/logLevels/node',
    mix<Json>(
      [1, among('ERROR', 'WARN', 'INFO', 'DEBUG', 'trace', 'swarm=debug,info', '=', ',', ':')],
      [1, fc.string({ unit: fc.constantFrom(...'az09_:,='), minLength: 1 })],
    ),
    mix([1, noTexts], [1, among('TRACE', 'Info', 'info warn', 'INFO,debug', 'INFO ', 'INFO\n', 'ä')]),
  ),
  row('admin/authorizedUsers', uniqueLists(userKeys), wrongLists(userKeys, noUserKeys)),
  row('licensing/node', licences, noLicences),
  row(
    'licensing/apps',
    objects(appIds, appLicences),
    mix<Json>([1, noObjects], [1, objects(noAppIds, appLicences)], [1, objects(appIds, noAppLicences)]),
  ),
  row('api/events/readOnly', fc.boolean(), among('true', 0, null)),
  row(
    'api/events/_internal',
    mix([6, objects(names, anyJson)], [1, fc.constantFrom(10, internalLevels).map(nested)]),
    mix<Json>(
      [2, noObjects],
      [1, among({ a: Number.NaN }, { a: [Number.POSITIVE_INFINITY] })],
      [1, fc.constantFrom(internalLevels + 1, 600).map(nested)],
    ),
  ),
  row(
    'eventRouting/streams',
    objects(streamNames, streamLimits),
    mix<Json>([1, noObjects], [1, objects(noStreamNames, streamLimits)], [1, objects(streamNames, noStreamLimits)]),
  ),
  row('eventRouting/routes', fc.array(routes, { maxLength: 3 }), wrongLists(routes, noRoutes)),
]

/** The document with a value set at a path, replacing whatever is there. */
export function grafted(document: Json | undefined, [name, ...rest]: Scope, value: Json): Json {
  if (name === undefined) return value
  const object = typeof document === 'object' && document !== null && !Array.isArray(document) ? document : {}
  const member = Object.hasOwn(object, name) ? object[name] : undefined
  return { ...object, [name]: grafted(member, rest, value) }
}

function graftedAll(rows: readonly Row[], values: readonly (Json | undefined)[]): JsonObject {
  let document: Json = {}
  for (const [i, { scope }] of rows.entries()) {
    const value = values[i]
    if (value !== undefined) document = grafted(document, scope, value)
  }
  return document as JsonObject
}

export const rightDocuments: fc.Arbitrary<JsonObject> = fc
  .tuple(...rows.map(({ right }) => fc.option(right, { nil: undefined, freq: 2 })))
  .map((values) => graftedAll(rows, values))
