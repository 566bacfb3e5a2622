import { isIPv4, isIPv6 } from 'node:net'
import { format } from '../../../src/base/format.ts'
import { limits } from '../../../src/base/limits.ts'
import { type Tree, textOf } from './document.ts'

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

/** The base64 of 32 bytes: 43 digits, with two zero padding bits in the last one. */
const swarmKey = matching(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/)

const streamName = matching(/^[a-zA-Z0-9_-]+$/)
const appId: Rule = (value) => typeof value === 'string' && value.split('.').every(streamName)

const quotedTag = `(?:'(?:[^']|'')+'|"(?:[^"]|"")+")`
const route = matching(new RegExp(`^${quotedTag}(?:\\s*[|&]\\s*${quotedTag})*$`))

const port: Rule = (value) => typeof value === 'string' && /^[0-9]+$/.test(value) && Number(value) < 65536
const hostName: Rule = (value) => value !== ''
const peerId = matching(/^(?:12D3KooW|Qm)[1-9A-HJ-NP-Za-km-z]{44}$/)

/** The protocols of generated multiaddresses, with the rule for the value if they have one. */
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

/** The protocol names of a multiaddress; undefined when it is malformed. */
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
/** The y coordinates of the eight points of small order: anyone can forge signatures for them. */
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

/** Whether y is on the curve: x² = (y² − 1) / (dy² + 1) is a square exactly when the product of both terms is one. */
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

export function isValid(document: Tree): boolean {
  return (
    isJson(document) &&
    levels(document) <= format.jsonNesting &&
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
