import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { isIPv4, isIPv6 } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { type ErrorCode, ShoalError } from '../../src/errors.ts'
import { formatPublicKey, KeyPair } from '../../src/identity/index.ts'
import { limits } from '../../src/limits.ts'
import { logOutput, textLine } from '../../src/log/index.ts'
import { Node } from '../../src/node/index.ts'
import { type Json, type JsonObject, type Scope, Settings, type SettingsChange } from '../../src/settings/index.ts'
import { DataFolder, NodeDatabase } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'

// ---------------------------------------------------------------------------------------------------------------------
// The model: what the specification says about settings, as plainly as it can be written down. It shares no code with
// `src/settings`, so that a mistake has to be made twice to go unseen.

/** JSON with maps for objects: no name means anything special to a map. */
type Tree = null | boolean | number | string | Tree[] | Map<string, Tree>

function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return value.map(treeOf)
  if (typeof value !== 'object' || value === null) return value as Tree
  return new Map(Object.entries(value).map(([name, member]) => [name, treeOf(member)]))
}

/** JSON text with its names in order, so that equal documents have equal texts. */
function textOf(tree: Tree | undefined): string {
  if (tree === undefined) return 'nothing'
  if (Array.isArray(tree)) return `[${tree.map(textOf).join()}]`
  if (!(tree instanceof Map)) return JSON.stringify(tree)
  const members = [...tree].map(([name, member]) => `${JSON.stringify(name)}:${textOf(member)}`)
  return `{${members.sort().join()}}`
}

const jsonText = (value: unknown): string => textOf(treeOf(value))

const specifiedDefaults = {
  swarm: {
    swarmKey: 'MDAwMDAwMDAxMTExMTExMTIyMjIyMjIyMzMzMzMzMzM=',
    topic: 'default-topic',
    initialPeers: [],
    announceAddresses: [],
    blockCacheCount: 131072,
    blockCacheSize: 1073741824,
    blockGcInterval: 300,
    metricsInterval: 1800,
    pingTimeout: 5,
    bitswapTimeout: 15,
    mdns: true,
    branchCacheSize: 67108864,
    gossipInterval: 10,
    detectionCyclesLowLatency: 2,
    detectionCyclesHighLatency: 5,
  },
  admin: { displayName: 'Default Node', logLevels: { node: 'INFO' }, authorizedUsers: [] },
  licensing: { node: 'development', apps: {} },
  api: { events: { readOnly: false } },
  eventRouting: { streams: {}, routes: [] },
}
const specifiedStreamDefaults = { maxEvents: 0, maxSize: '0', maxAge: null }

/** A rule of the specification's tables. */
type Rule = (value: Tree) => boolean

const flag: Rule = (value) => typeof value === 'boolean'
const anyNumber: Rule = (value) => typeof value === 'number'
const anyObject: Rule = (value) => value instanceof Map

function wholeNumber(least = Number.NEGATIVE_INFINITY): Rule {
  return (value) => Number.isInteger(value) && Number(value) >= least
}

function text(least: number, most = Number.POSITIVE_INFINITY): Rule {
  return (value) => typeof value === 'string' && [...value].length >= least && [...value].length <= most
}

function matching(pattern: RegExp): Rule {
  return (value) => typeof value === 'string' && pattern.test(value)
}

function oneOf(...allowed: Tree[]): Rule {
  return (value) => allowed.includes(value)
}

function either(...rules: Rule[]): Rule {
  return (value) => rules.some((rule) => rule(value))
}

function listOf(rule: Rule): Rule {
  return (value) => Array.isArray(value) && value.every(rule)
}

function uniqueListOf(rule: Rule): Rule {
  return (value) => Array.isArray(value) && value.every(rule) && new Set(value).size === value.length
}

function dictionaryOf(isName: Rule, rule: Rule): Rule {
  return (value) => value instanceof Map && [...value].every(([name, member]) => isName(name) && rule(member))
}

function object(rules: Record<string, Rule>, required: string[] = []): Rule {
  const known = new Map(Object.entries(rules))
  return (value) =>
    value instanceof Map &&
    required.every((name) => value.has(name)) &&
    [...value].every(([name, member]) => known.get(name)?.(member) === true)
}

/** The base64 of 32 bytes: 43 digits, where the last one has two bits to spare that are zero. */
const swarmKey = matching(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/)

const streamName = matching(/^[a-zA-Z0-9_-]+$/)
const appId: Rule = (value) => typeof value === 'string' && value.split('.').every(streamName)

const quotedTag = `(?:'(?:[^']|'')+'|"(?:[^"]|"")+")`
const route = matching(new RegExp(`^${quotedTag}(?:\\s*[|&]\\s*${quotedTag})*$`))

const port: Rule = (value) => typeof value === 'string' && /^[0-9]+$/.test(value) && Number(value) < 65536
const hostName: Rule = (value) => value !== ''
const peerId = matching(/^(?:12D3KooW|Qm)[1-9A-HJ-NP-Za-km-z]{44}$/)

/** The protocols that the generated addresses use, with the rule for the value that follows the name, if one does. */
const protocols = new Map<string, Rule | undefined>([
  ['ip4', (value) => typeof value === 'string' && isIPv4(value)],
  ['ip6', (value) => typeof value === 'string' && isIPv6(value)],
  ['dns', hostName],
  ['dns4', hostName],
  ['tcp', port],
  ['udp', port],
  ['quic-v1', undefined],
  ['ws', undefined],
  ['p2p', peerId],
])

/** The names of the protocols of a multiaddress; nothing when it is none. */
function protocolsOf(address: Tree): string[] | undefined {
  if (typeof address !== 'string' || !address.startsWith('/')) return undefined
  const names: string[] = []
  const parts = address.slice(1).split('/')
  while (parts.length > 0) {
    const name = parts.shift() ?? ''
    if (!protocols.has(name)) return undefined
    const rule = protocols.get(name)
    if (rule !== undefined && !rule(parts.shift() ?? '')) return undefined
    names.push(name)
  }
  return names
}

const addressWithPeer: Rule = (value) => protocolsOf(value)?.at(-1) === 'p2p'
const addressWithoutPeer: Rule = (value) => protocolsOf(value)?.includes('p2p') === false

/** Ed25519, RFC 8032: −x² + y² = 1 − (121665/121666)·x²·y² modulo this prime. */
const prime = 2n ** 255n - 19n
/** The y coordinates of the eight points that have no private key of their own: anyone can sign for them. */
const weakPoints = [
  0n,
  1n,
  prime - 1n,
  littleEndian(Buffer.from('26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05', 'hex')),
  littleEndian(Buffer.from('c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a', 'hex')),
]

const userKey: Rule = (value) => {
  if (typeof value !== 'string' || !value.startsWith('0') || !swarmKey(value.slice(1))) return false
  const y = BigInt.asUintN(255, littleEndian(Buffer.from(value.slice(1), 'base64')))
  return y < prime && isOnCurve(y) && !weakPoints.includes(y)
}

function littleEndian(bytes: Buffer): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

/** Whether there is an x for this y: whether the quotient that is x² has a root, which it has when this product has one. */
function isOnCurve(y: bigint): boolean {
  const product = modulo(121666n * (y * y - 1n) * (121666n - 121665n * y * y))
  return power(product, (prime - 1n) / 2n) <= 1n
}

function modulo(value: bigint): bigint {
  return ((value % prime) + prime) % prime
}

function power(base: bigint, exponent: bigint): bigint {
  if (exponent === 0n) return 1n
  const root = power((base * base) % prime, exponent / 2n)
  return exponent % 2n === 0n ? root : (root * base) % prime
}

const noLimit = oneOf(0, '0', null)

const documentRule = object({
  swarm: object({
    swarmKey,
    topic: text(1, 60),
    initialPeers: uniqueListOf(addressWithPeer),
    announceAddresses: uniqueListOf(addressWithoutPeer),
    blockCacheCount: wholeNumber(0),
    blockCacheSize: wholeNumber(0),
    blockGcInterval: wholeNumber(30),
    metricsInterval: wholeNumber(0),
    pingTimeout: wholeNumber(0),
    bitswapTimeout: wholeNumber(0),
    mdns: flag,
    branchCacheSize: wholeNumber(),
    gossipInterval: wholeNumber(),
    detectionCyclesLowLatency: anyNumber,
    detectionCyclesHighLatency: anyNumber,
  }),
  admin: object({
    displayName: text(1),
    logLevels: object({ node: matching(/^(ERROR|WARN|INFO|DEBUG|[a-z0-9_:,=]+)$/) }),
    authorizedUsers: uniqueListOf(userKey),
  }),
  licensing: object({
    node: either(oneOf('development'), text(64)),
    apps: dictionaryOf(appId, either(oneOf('testing'), text(100))),
  }),
  api: object({ events: object({ readOnly: flag, _internal: anyObject }) }),
  eventRouting: object({
    streams: dictionaryOf(
      streamName,
      object({
        maxEvents: either(wholeNumber(0), noLimit),
        maxSize: either(matching(/^[1-9][0-9]*(B|kB|MB|GB|KiB|MiB|GiB)?$/), noLimit),
        maxAge: either(matching(/^[1-9][0-9]+(s|m|h|d|w)$/), noLimit),
      }),
    ),
    routes: listOf(object({ from: route, into: streamName }, ['from', 'into'])),
  }),
})

function isValid(document: Tree): boolean {
  return (
    isJson(document) &&
    levels(document) <= limits.jsonNesting &&
    Buffer.byteLength(textOf(document)) <= limits.settingsDocumentBytes &&
    documentRule(document)
  )
}

const membersOf = (tree: Tree): Tree[] => (tree instanceof Map ? [...tree.values()] : Array.isArray(tree) ? tree : [])
const isJson = (tree: Tree): boolean =>
  typeof tree === 'number' ? Number.isFinite(tree) : membersOf(tree).every((member) => isJson(member))

function levels(tree: Tree): number {
  return typeof tree === 'object' && tree !== null ? 1 + Math.max(0, ...membersOf(tree).map(levels)) : 0
}

function memberOf(tree: Tree | undefined, name: string): Tree | undefined {
  if (tree instanceof Map) return tree.get(name)
  return Array.isArray(tree) ? tree[Object.keys(tree).indexOf(name)] : undefined
}

function valueAt(tree: Tree | undefined, [name, ...rest]: Scope): Tree | undefined {
  return name === undefined ? tree : valueAt(memberOf(tree, name), rest)
}

/** The tree with a value at a place; nothing when there cannot be such a place. */
function withValue(
  tree: Tree | undefined,
  shown: Tree | undefined,
  [name, ...rest]: Scope,
  value: Tree,
): Tree | undefined {
  if (name === undefined) return value
  const missing = Array.isArray(shown) ? shown : new Map<string, Tree>()
  const parent = tree === undefined ? missing : tree
  const member = withValue(memberOf(parent, name), memberOf(shown, name), rest, value)
  return member === undefined ? undefined : withMember(parent, name, member)
}

function withMember(parent: Tree, name: string, member: Tree): Tree | undefined {
  if (parent instanceof Map) return new Map(parent).set(name, member)
  if (!Array.isArray(parent)) return undefined
  const index = [...parent.keys(), parent.length].map(String).indexOf(name)
  return index < 0 ? undefined : parent.toSpliced(index, 1, member)
}

function withoutValue(tree: Tree, [name, ...rest]: Scope): Tree {
  if (name === undefined) return new Map()
  const member = memberOf(tree, name)
  if (member === undefined) return tree
  if (rest.length > 0) return withMember(tree, name, withoutValue(member, rest)) ?? tree
  if (Array.isArray(tree)) return tree.toSpliced(Number(name), 1)
  return tree instanceof Map ? new Map([...tree].filter(([other]) => other !== name)) : tree
}

/** RFC 7396. */
function mergedInto(target: Tree | undefined, patch: Tree): Tree {
  if (!(patch instanceof Map)) return patch
  const result = new Map(target instanceof Map ? target : [])
  for (const [name, member] of patch) {
    if (member === null) result.delete(name)
    else result.set(name, mergedInto(result.get(name), member))
  }
  return result
}

function withDefaults(stored: Tree): Tree {
  const document = overlaid(treeOf(specifiedDefaults), stored)
  const streams = valueAt(document, ['eventRouting', 'streams'])
  if (!(streams instanceof Map)) return document
  for (const [name, stream] of streams) streams.set(name, overlaid(treeOf(specifiedStreamDefaults), stream))
  return document
}

/** The base with everything that lies on top of it; nothing of either is shared with the result. */
function overlaid(base: Tree | undefined, top: Tree | undefined): Tree {
  if (!(base instanceof Map) || !(top instanceof Map)) return structuredClone((top === undefined ? base : top) ?? null)
  const names = new Set([...base.keys(), ...top.keys()])
  return new Map([...names].map((name) => [name, overlaid(base.get(name), top.get(name))]))
}

/** The paths that differ: the members of objects one by one, everything else as a whole. */
function differences(before: Tree | undefined, after: Tree | undefined, path = ''): string[] {
  if (!(before instanceof Map) || !(after instanceof Map)) return textOf(before) === textOf(after) ? [] : [path]
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].flatMap((name) => differences(before.get(name), after.get(name), `${path}/${name}`))
}

type Operation =
  | { kind: 'set' | 'merge'; scope: Scope; value: Json }
  | { kind: 'unset'; scope: Scope }
  | { kind: 'rollback'; revision: number }

/** How an operation ended: with an answer, or with an error. */
type Outcome = { answer: string } | { refused: ErrorCode }

/** What listeners are told, with documents as text. */
interface Announcement {
  revision: number
  scope: string
  before: string
  after: string
  paths: string[]
}

class Model {
  /** Every document that was stored, the first is revision 1; and the text of each. */
  readonly versions: Tree[] = []
  readonly texts: string[] = []
  readonly announced: Announcement[] = []

  get revision(): number {
    return this.versions.length
  }

  get stored(): Tree {
    return this.versions.at(-1) ?? new Map()
  }

  get shown(): Tree {
    return withDefaults(this.stored)
  }

  perform(operation: Operation): Outcome {
    if (operation.kind === 'rollback' && this.versions[operation.revision - 1] === undefined)
      return { refused: 'ERR_SETTINGS_REVISION_UNKNOWN' }
    const document = this.#documentAfter(operation)
    if (document === undefined || !isValid(document)) return { refused: 'ERR_SETTINGS_INVALID' }
    this.#store(document, scopeOf(operation))
    const answers = operation.kind === 'set' || operation.kind === 'merge'
    return { answer: textOf(answers ? valueAt(this.shown, operation.scope) : undefined) }
  }

  #documentAfter(operation: Operation): Tree | undefined {
    const { stored, shown } = this
    switch (operation.kind) {
      case 'set':
        return withValue(stored, shown, operation.scope, treeOf(operation.value))
      case 'merge': {
        const value = mergedInto(valueAt(stored, operation.scope), treeOf(operation.value))
        return withValue(stored, shown, operation.scope, value)
      }
      case 'unset':
        return withoutValue(stored, operation.scope)
      case 'rollback':
        return this.versions[operation.revision - 1]
    }
  }

  #store(document: Tree, scope: Scope): void {
    // What is there already is not stored again, but the very first change always is: it makes revision 1.
    const text = textOf(document)
    if (this.texts.at(-1) === text) return
    const before = this.shown
    this.versions.push(document)
    this.texts.push(text)
    this.announced.push({
      revision: this.revision,
      scope: `/${scope.join('/')}`,
      before: textOf(before),
      after: textOf(this.shown),
      paths: differences(before, this.shown).sort(),
    })
  }
}

function scopeOf(operation: Operation): Scope {
  return operation.kind === 'rollback' ? [] : operation.scope
}

// ---------------------------------------------------------------------------------------------------------------------
// The generators: values for every row of the specification's tables, right and wrong (`no…`), and operations with them.
// Only the model decides what is valid: a generator may err, and by chance a wrong value may be right.

type Values = fc.Arbitrary<Json>

/** One of several, each as often as its weight says. */
function mix<T>(...choices: [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

const among = (...values: Json[]): Values => fc.constantFrom(...values)

/** Takes any name, `__proto__` too. */
function objects(names: fc.Arbitrary<string>, values: Values): fc.Arbitrary<JsonObject> {
  return fc.array(fc.tuple(names, values), { maxLength: 4 }).map((entries) => Object.fromEntries(entries))
}

const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty']
const oddNames = [...inherited, '', ' ', '~', '~1', 'a/b', 'ä', '名前', '😀', '\ud800', '\0', 'length']
const names = mix([3, fc.constantFrom('a', 'b', '0', '1')], [1, fc.constantFrom(...oddNames)])
const strings = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 })

const { json: anyJson } = fc.letrec<{ json: Json; list: Json[]; object: JsonObject }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 3 },
    { weight: 3, arbitrary: among(null, true, false, 0, -0, 1, -1.5, 1e308, 2 ** 53, '', 'x', '\ud800', '\0') },
    { weight: 1, arbitrary: tie('list') },
    { weight: 2, arbitrary: tie('object') },
  ),
  list: fc.array(tie('json'), { maxLength: 3 }),
  object: objects(names, tie('json')),
}))

/** A place in the document with values that belong there, and values that do not. */
interface Row {
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
const places = fc
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
const peerAddresses = fc.tuple(places, peers).map(([place, peer]) => `${place}/p2p/${peer}`)
const noPeerAddresses = mix<Json>(
  [1, noTexts],
  [1, places],
  [1, fc.tuple(noPlaces, peers).map(([place, peer]) => `${place}/p2p/${peer}`)],
  [1, peerAddresses.map((address) => address.slice(0, -1))],
  [1, places.map((place) => `${place}/p2p/0OIl`)],
)
const noAnnouncedAddresses = mix<Json>([1, noTexts], [1, peerAddresses], [1, noPlaces])

const userKeys = fc
  .constantFrom(...Array.from({ length: 8 }, (_, i) => new KeyPair(Buffer.alloc(32, i)).publicKey))
  .map(formatPublicKey)
const noUserKeys = mix<Json>(
  [1, noTexts],
  // Half of all 32 bytes are a point of the curve; the model knows which.
  [2, swarmKeys.map((key) => `0${key}`)],
  [1, userKeys.map((key) => `1${key.slice(1)}`)],
  [1, userKeys.map((key) => key.slice(1))],
  [1, fc.constantFrom(0, 1, 255).map((byte) => `0${Buffer.alloc(32, byte).toString('base64')}`)],
)

const licences = mix<Json>([1, among('development')], [1, among('x'.repeat(64), '😀'.repeat(64), 'x'.repeat(100))])
const noLicences = mix<Json>([1, noTexts], [1, among('testing', 'Development', 'x'.repeat(63), '😀'.repeat(63))])
const appLicences = among('testing', 'x'.repeat(100), '😀'.repeat(100))
const noAppLicences = mix<Json>([1, noTexts], [1, among('development', 'x'.repeat(99), '😀'.repeat(50))])
const appIds = fc.constantFrom('com.example.a', 'a', 'A-b_9.c', ...inherited)
const noAppIds = fc.constantFrom('', '.', 'a.', '.a', 'a..b', 'a b', 'ä', '~', 'a/b', 'a\n', '1111111111!')

const streamNames = fc.constantFrom('default', 'a', 'A-b_9', '0', ...inherited)
const noStreamNames = fc.constantFrom('', 'a b', 'ä', 'a.b', '~', 'a\n', '\ud800')
const limitRows = [
  row('maxEvents', mix([2, counts], [1, among('0', null)]), mix([2, noCounts], [1, among('', '00', '5')])),
  row(
    'maxSize',
    among(0, '0', null, '1', '10', '1B', '10kB', '2MB', '3GB', '4KiB', '5MiB', '6GiB', `${'9'.repeat(400)}B`),
    among('', '0B', '01MB', '1KB', '1.5MB', '10 MB', '-1B', '1TB', '1B\n', 100, true, [], {}),
  ),
  row(
    'maxAge',
    among(0, '0', null, '10s', '60m', '24h', '30d', '52w', `${'9'.repeat(400)}w`),
    among('', '1h', '01h', '00s', '10', '10y', '10 h', '1.5h', '10H', '10h\n', 60, true, [], {}),
  ),
] as const
const limitsOf = (values: (row: Row) => Values): fc.Arbitrary<JsonObject> =>
  fc.subarray([...limitRows]).chain((chosen) => fc.tuple(...chosen.map(values)).map((all) => graftedAll(chosen, all)))
const streamLimits = limitsOf(({ right }) => right)
const noStreamLimits = mix<Json>([1, noObjects], [2, limitsOf(({ wrong }) => wrong)], [1, objects(names, anyJson)])

const tags = fc.string({ unit: fc.constantFrom('a', ' ', 'ü', "''", '""', '|', '&', '('), minLength: 1, maxLength: 4 })
const quotedTags = mix([1, tags.map((tag) => `'${tag}'`)], [1, tags.map((tag) => `"${tag}"`)])
const tagExpressions = fc
  .tuple(
    fc.constantFrom("'a'", '"a"', "'it''s'"),
    fc.array(fc.tuple(fc.constantFrom('|', '&', ' | ', ' &\n'), quotedTags), { maxLength: 3 }),
  )
  .map((parts) => parts.flat(2).join(''))
const noTagExpressions = among(
  ...['', 'a', "'a", "a'", "''", "'a' &", "& 'a'", "'a' 'b'", "'a' )))", "('a')", "'it's'", 'allEvents', "'a' && 'b'"],
  ...[1, null, [], {}],
)
const routeOf = (from: Values, into: Values): fc.Arbitrary<JsonObject> =>
  // The order of the members means nothing, so both orders come.
  fc.tuple(from, into, fc.boolean()).map(([from, into, turned]) => (turned ? { into, from } : { from, into }))
const routes = routeOf(tagExpressions, streamNames)
const noRoutes = mix<Json>(
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

/** An object of so many levels. */
function nested(depth: number): JsonObject {
  let value: Json = 1
  for (let level = 1; level < depth; level++) value = level % 2 === 0 ? { a: value } : [value]
  return { a: value }
}
/** The levels that are left for `_internal`, three levels down. */
const internalLevels = limits.jsonNesting - 3

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
const rows: readonly Row[] = [
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

/** The document with a value put at a place, whatever is there. */
function grafted(document: Json | undefined, [name, ...rest]: Scope, value: Json): Json {
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

const rightDocuments: fc.Arbitrary<JsonObject> = fc
  .tuple(...rows.map(({ right }) => fc.option(right, { nil: undefined, freq: 2 })))
  .map((values) => graftedAll(rows, values))

interface Placed {
  readonly scope: Scope
  readonly value: Json
}

const placed = (scopes: fc.Arbitrary<Scope>, values: Values): fc.Arbitrary<Placed> =>
  fc.record({ scope: scopes, value: values })
const placedRow = ({ scope, right, wrong }: Row): fc.Arbitrary<Placed> =>
  placed(fc.constant(scope), mix([3, right], [2, wrong]))
const under = (path: string, ...parts: fc.Arbitrary<string>[]): fc.Arbitrary<Scope> =>
  fc.tuple(...parts).map((rest) => [...path.split('/'), ...rest])

const sections = ['swarm', 'admin', 'licensing', 'api', 'eventRouting']
const objectScopes: Scope[] = [...sections, 'admin/logLevels', 'api/events'].map((path) => path.split('/'))
const wrongRow = fc.constantFrom(...rows).chain(({ scope, wrong }) => placed(fc.constant(scope), wrong))
const strangers = placed(
  fc.tuple(fc.constantFrom<Scope[]>([], ...objectScopes), names).map(([scope, name]) => [...scope, name]),
  anyJson,
)
const wrongDocuments = fc
  .tuple(rightDocuments, mix([2, wrongRow], [1, strangers]))
  .map(([document, { scope, value }]) => grafted(document, scope, value))
const oversized: Json = { api: { events: { _internal: { a: 'x'.repeat(limits.settingsDocumentBytes) } } } }

const wholeDocuments = placed(
  fc.constant([]),
  mix<Json>([30, rightDocuments], [20, wrongDocuments], [10, anyJson], [1, fc.constant(oversized)]),
)
const wholeSections = fc
  .tuple(rightDocuments, fc.constantFrom(...sections))
  .map(([document, name]) => ({ scope: [name], value: document[name] ?? {} }))

const indexes = mix(
  [5, fc.constantFrom('0', '1', '2')],
  [1, fc.constantFrom('3', '01', '-1', '1e0', '', 'length', 'x', '4294967296', '99999999999')],
)
const items = fc.oneof(
  placed(under('swarm/initialPeers', indexes), mix([3, peerAddresses], [1, noPeerAddresses])),
  placed(under('swarm/announceAddresses', indexes), mix([3, places], [1, noAnnouncedAddresses])),
  placed(under('admin/authorizedUsers', indexes), mix([3, userKeys], [1, noUserKeys])),
  placed(under('eventRouting/routes', indexes), mix([3, routes], [1, noRoutes])),
  placed(under('eventRouting/routes', indexes, fc.constant('from')), mix([3, tagExpressions], [1, noTagExpressions])),
)
const entries = fc.oneof(
  placed(under('licensing/apps', mix([4, appIds], [1, noAppIds])), mix([4, appLicences], [1, noAppLicences])),
  placed(
    under('eventRouting/streams', mix([4, streamNames], [1, noStreamNames])),
    mix([4, streamLimits], [1, anyJson]),
  ),
  fc
    .tuple(streamNames, fc.constantFrom(...limitRows).chain(placedRow))
    .map(([name, { scope, value }]) => ({ scope: ['eventRouting', 'streams', name, ...scope], value })),
)

const steps = fc.array(mix([3, names], [1, indexes]), { maxLength: 4 })
const free = placed(
  steps.map((rest) => ['api', 'events', '_internal', ...rest]),
  anyJson,
)
const nowhere = mix(
  [4, steps],
  // Below values that cannot have anything below them, and below what is not stored.
  [8, fc.tuple(fc.constantFrom(...rows), steps).map(([{ scope }, rest]) => [...scope, ...rest])],
  [1, fc.constant(['api', 'events', '_internal', ...Array<string>(600).fill('a')])],
)

const inside = mix<Placed>(
  [8, fc.constantFrom(...rows).chain(placedRow)],
  [3, wholeSections],
  [6, items],
  [4, entries],
  [4, free],
  [2, placed(nowhere, anyJson)],
)
const anywhere = mix([4, inside], [1, wholeDocuments])

/** A patch that also removes something. */
const patches = fc.tuple(anywhere, names).map(([{ scope, value }, spare]) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { scope, value }
  const [name = spare] = Object.keys(value).reverse()
  return { scope, value: { ...value, [name]: null } }
})

const revisions = mix([4, fc.integer({ min: 1, max: 12 })], [1, fc.constantFrom(-1, 0, 0.5, 1.5, 1000, 2 ** 53, 1e308)])

/** A route needs both of its members: the only place where taking something away can be wrong. */
const routeMembers = under('eventRouting/routes', fc.constantFrom('0', '1'), fc.constantFrom('from', 'into'))
const removable = mix([20, inside.map(({ scope }) => scope)], [8, routeMembers], [1, fc.constant([])])

const setting = (placed: Placed): Operation => ({ kind: 'set', ...placed })
const merging = (placed: Placed): Operation => ({ kind: 'merge', ...placed })
const unsetting = (scope: Scope): Operation => ({ kind: 'unset', scope })
const rollingBack = (revision: number): Operation => ({ kind: 'rollback', revision })

const operations = mix(
  [12, anywhere.map(setting)],
  [4, patches.map(merging)],
  [3, removable.map(unsetting)],
  [2, revisions.map(rollingBack)],
)
const oneAfterTheOther = fc.array(operations, { minLength: 1, maxLength: 40, size: 'max' })

/** Changes that get in each other's way. */
const contested = placed(under('api/events/_internal', fc.constantFrom('a', 'b')), anyJson)
const contestedChanges = fc.oneof(
  contested.map(setting),
  contested.map(merging),
  contested.map(({ scope }) => unsetting(scope)),
)
const atOnce = fc.array(contestedChanges, { minLength: 2, maxLength: 5 })

// ---------------------------------------------------------------------------------------------------------------------
// The real thing beside the model.

/** Real settings in a real data folder. */
class Subject {
  readonly #folder: DataFolder
  readonly #database: NodeDatabase
  readonly settings: Settings
  readonly announced: Announcement[] = []

  private constructor(folder: DataFolder, database: NodeDatabase, settings: Settings) {
    this.#folder = folder
    this.#database = database
    this.settings = settings
    settings.onChange((change) => this.announced.push(announcementOf(change)))
  }

  static async open(path: string): Promise<Subject> {
    const folder = DataFolder.open(path, { create: true })
    const database = NodeDatabase.open(folder.nodeDatabase)
    return new Subject(folder, database, await Settings.open(database.settings, refuseNothing))
  }

  /** The settings as a version of shoal finds them that did not write them, and so looks at every rule again. */
  async reviewed(): Promise<Settings> {
    const log = this.#database.settings
    const versions = [...log.versions()].map((version) => ({ ...version, seal: 'of another version' }))
    return await Settings.open({ ...log, versions: () => versions }, refuseNothing)
  }

  close(): void {
    this.#database.close()
    this.#folder.close()
  }
}

function refuseNothing(revision: number, reason: Error): void {
  assert.fail(`revision ${revision} was stored and is refused: ${reason.message}`)
}

function announcementOf({ revision, scope, before, after, paths }: SettingsChange): Announcement {
  return { revision, scope, before: jsonText(before), after: jsonText(after), paths: [...paths].sort() }
}

/** What a change or a question comes to, where errors are of the kind that is meant for the one who asked. */
async function outcomeOf(work: () => Promise<unknown> | unknown): Promise<Outcome> {
  try {
    return { answer: jsonText(await work()) }
  } catch (error) {
    if (error instanceof ShoalError) return { refused: error.code }
    throw error
  }
}

function perform(settings: Settings, operation: Operation): Promise<Outcome> {
  return outcomeOf(() => {
    switch (operation.kind) {
      case 'set':
        return settings.set(operation.scope, operation.value, 'test')
      case 'merge':
        return settings.merge(operation.scope, operation.value, 'test')
      case 'unset':
        return settings.unset(operation.scope, 'test')
      case 'rollback':
        return settings.rollback(operation.revision, 'test')
    }
  })
}

/** Everything that can be read from the settings is what the model has. */
function compare(settings: Settings, model: Model): void {
  assert.equal(settings.revision, model.revision)
  assert.equal(jsonText(settings.get([], { defaults: false })), textOf(model.stored))
  assert.equal(jsonText(settings.get([])), textOf(model.shown))
  assert.equal(jsonText(settings.document), textOf(model.shown))
  const history = [...settings.history()].map(({ revision, document }) => [revision, jsonText(document)])
  assert.deepEqual(
    history.reverse(),
    [...model.texts.entries()].map(([i, text]) => [i + 1, text]),
  )
}

async function compareAt(scope: Scope, settings: Settings, model: Model): Promise<void> {
  const found = (tree: Tree | undefined): Outcome =>
    tree === undefined ? { refused: 'ERR_SETTINGS_NOT_FOUND_AT_SCOPE' } : { answer: textOf(tree) }
  assert.deepEqual(await outcomeOf(() => settings.get(scope)), found(valueAt(model.shown, scope)))
  assert.deepEqual(await outcomeOf(() => settings.get(scope, { defaults: false })), found(valueAt(model.stored, scope)))
}

async function step(subject: Subject, model: Model, operation: Operation): Promise<Outcome> {
  const expected = model.perform(operation)
  assert.deepEqual(await perform(subject.settings, operation), expected)
  assert.deepEqual(subject.announced.splice(0), model.announced.splice(0))
  compare(subject.settings, model)
  await compareAt(scopeOf(operation), subject.settings, model)
  return expected
}

function startNode(folder: string): Promise<Node> {
  const endpoint = [{ host: '127.0.0.1', port: 0 }]
  const output = logOutput(textLine(false), { write: () => {}, flush: async () => {} })
  return Node.start({ folder, endpoints: { api: endpoint, admin: endpoint, swarm: endpoint }, output })
}

async function startsWith(folder: string, model: Model): Promise<void> {
  const node = await startNode(folder)
  try {
    compare(node.settings, model)
  } finally {
    await node.stop('NODE_STOPPED_BY_HOST')
  }
}

/** New data folders, all of them gone when the test is over. */
function newFolders(t: TestContext): () => string {
  const parent = temporaryFolder(t)
  let count = 0
  return () => join(parent, String(count++))
}

const operationsBetweenRestarts = 10

async function runThrough(folder: string, operations: Operation[], count: (end: string) => void): Promise<void> {
  const model = new Model()
  let subject = await Subject.open(folder)
  try {
    for (const [i, operation] of operations.entries()) {
      const outcome = await step(subject, model, operation)
      count('refused' in outcome ? `${operation.kind}: ${outcome.refused}` : `${operation.kind}: accepted`)
      if (i % operationsBetweenRestarts > 0) continue
      subject.close()
      subject = await Subject.open(folder)
      compare(subject.settings, model)
    }
    compare(await subject.reviewed(), model)
  } finally {
    subject.close()
  }
  await startsWith(folder, model)
}

test('the model agrees with the recorded cases about which documents are valid', () => {
  const file = new URL('../../conformance/settings/documents.json', import.meta.url)
  const cases = JSON.parse(readFileSync(file, 'utf8')) as { document: Json; valid: boolean }[]
  for (const { document, valid } of cases) assert.equal(isValid(treeOf(document)), valid, JSON.stringify(document))
})

test('the generators know right values and wrong ones for every setting', () => {
  for (const { scope, right, wrong } of rows) {
    const fits = (value: Json): boolean => isValid(treeOf(grafted({}, scope, value)))
    assert.ok(fc.sample(right, 30).every(fits), `a value for ${scope.join('/')} is wrong`)
    assert.ok(!fc.sample(wrong, 30).every(fits), `no value for ${scope.join('/')} is wrong`)
  }
  assert.ok(fc.sample(rightDocuments, 30).some((document) => Object.keys(document).length === sections.length))
})

test('a fresh node shows the defaults of the specification, and has nothing stored', async (t) => {
  const node = await startNode(temporaryFolder(t))
  t.after(() => node.stop('NODE_STOPPED_BY_HOST'))
  assert.deepEqual(node.settings.get([]), specifiedDefaults)
  assert.deepEqual(node.settings.get([], { defaults: false }), {})
  compare(node.settings, new Model())
})

test('every setting takes the values of its row in the specification, and refuses others', async (t) => {
  const subject = await Subject.open(temporaryFolder(t))
  t.after(() => subject.close())
  const model = new Model()
  for (const { scope, right, wrong } of rows) {
    await fc.assert(
      fc.asyncProperty(mix([1, right], [3, wrong]), async (value) => {
        const operation = setting({ scope, value })
        const expected = model.perform(operation)
        assert.deepEqual(await perform(subject.settings, operation), expected)
      }),
    )
  }
  compare(subject.settings, model)
})

test('thousands of generated changes do what the model says, across restarts, and a node starts with each result', async (t) => {
  const newFolder = newFolders(t)
  const ends = new Map<string, number>()
  const count = (end: string): void => void ends.set(end, (ends.get(end) ?? 0) + 1)
  await fc.assert(
    fc.asyncProperty(oneAfterTheOther, (operations) => runThrough(newFolder(), operations, count)),
    { numRuns: 150 },
  )

  // A test whose changes all end the same way would show nothing.
  const sum = (ending: string): number =>
    [...ends].filter(([end]) => end.endsWith(ending)).reduce((total, [, times]) => total + times, 0)
  const [total, accepted] = [sum(''), sum('accepted')]
  assert.ok(total >= 2000, `only ${total} operations`)
  assert.ok(accepted > total / 4 && accepted < (total * 3) / 4, `${accepted} of ${total} were accepted`)
  const possible = ['set', 'merge', 'unset'].flatMap((kind) => [`${kind}: accepted`, `${kind}: ERR_SETTINGS_INVALID`])
  possible.push('rollback: accepted', 'rollback: ERR_SETTINGS_REVISION_UNKNOWN')
  assert.deepEqual([...ends.keys()].sort(), possible.sort())
})

test('changes that are asked for at once happen one after the other, and each is answered with its own result', async (t) => {
  const newFolder = newFolders(t)
  await fc.assert(
    fc.asyncProperty(atOnce, async (operations) => {
      const subject = await Subject.open(newFolder())
      try {
        const model = new Model()
        const expected = operations.map((operation) => model.perform(operation))
        const { settings, announced } = subject
        const outcomes = await Promise.all(operations.map((operation) => perform(settings, operation)))
        assert.deepEqual(outcomes, expected)
        assert.deepEqual(announced, model.announced)
        compare(settings, model)
      } finally {
        subject.close()
      }
    }),
    { numRuns: 50 },
  )
})

test('what `get` shows, `set` takes at the same scope, and no effective value changes', async (t) => {
  const subject = await Subject.open(temporaryFolder(t))
  t.after(() => subject.close())
  const { settings, announced } = subject
  const scopes = fc.constantFrom<Scope[]>([], ...objectScopes, ...rows.map(({ scope }) => scope))
  await fc.assert(
    fc.asyncProperty(rightDocuments, scopes, async (document, scope) => {
      await settings.set([], document, 'test')
      const shown = settings.document
      const value = valueAt(treeOf(shown), scope)
      fc.pre(value !== undefined)
      announced.length = 0
      const printed = JSON.stringify(settings.get(scope))
      assert.equal(jsonText(await settings.set(scope, JSON.parse(printed) as Json, 'test')), textOf(value))
      assert.equal(jsonText(settings.document), jsonText(shown))
      assert.deepEqual(
        announced.flatMap(({ paths }) => paths),
        [],
      )
    }),
  )
})

test('a document of exactly as many bytes as the limit allows is kept, one with a byte more is not', async (t) => {
  const withText = (length: number): Json => ({ admin: { displayName: 'x'.repeat(length) } })
  const rest = limits.settingsDocumentBytes - JSON.stringify(withText(0)).length
  const ends: string[] = []
  const operations = [rest + 1, rest].map((size): Operation => ({ kind: 'set', scope: [], value: withText(size) }))
  await runThrough(temporaryFolder(t), operations, (end) => ends.push(end))
  assert.deepEqual(ends, ['set: ERR_SETTINGS_INVALID', 'set: accepted'])
})

test('a document that breaks a rule is refused soon, however often and however nearly it breaks it', async (t) => {
  const subject = await Subject.open(temporaryFolder(t))
  t.after(() => subject.close())
  const nearlyAnAppId = { licensing: { apps: { [`${'1'.repeat(28)}!`]: 'testing' } } }
  const wrongLicences = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`a${i}`, 1]))
  const documents = [nearlyAnAppId, { licensing: { apps: wrongLicences } }, nested(100_000)]
  for (const document of documents) {
    const start = performance.now()
    await assert.rejects(subject.settings.set([], document, 'test'), { code: 'ERR_SETTINGS_INVALID' })
    await assert.rejects(subject.settings.merge([], document, 'test'), { code: 'ERR_SETTINGS_INVALID' })
    const seconds = (performance.now() - start) / 1000
    assert.ok(seconds < 3, `it took ${seconds} seconds`)
  }
  compare(subject.settings, new Model())
})
