import type { Random } from '../../../scripts/crash/random.ts'
import { type Json, schema } from '../../../src/settings/index.ts'

/** What a setting may be set to, and some of what is refused. */
export interface SettingValues {
  readonly valid: (random: Random) => Json
  readonly invalid: readonly [Json, ...Json[]]
}

/** What the values refer to. */
export interface Surroundings {
  /** Two swarm keys: the one of the peer, and another one. */
  readonly swarmKeys: readonly [string, string]
  /** The topic of the peer, and another one. */
  readonly topics: readonly [string, string]
  /** The address of the peer. */
  readonly peer: string
  /** The public keys of those who make the changes. */
  readonly users: readonly [string, string]
}

const below = (limit: number, from = 0) => ({
  valid: (random: Random) => from + random.below(limit),
  invalid: [from - 1, 1.5, 'x'] as const,
})

const anything = (limit: number) => ({
  valid: (random: Random) => random.below(limit) - 1,
  invalid: [0.5, '1', null] as const,
})

const cycles = { valid: (random: Random) => random.next() * 10, invalid: ['x', null] } as const

/** Limits that nothing of a test reaches. */
const retention = (random: Random): Json =>
  random.pick<Json>([
    { maxEvents: 1_000_000 + random.below(9) },
    { maxSize: '10GiB', maxAge: '24h' },
    { maxEvents: 0, maxAge: `${10 + random.below(9)}w` },
  ])

/** All paths of the settings. Routes match every event that has both tags of the test, or none. */
export function settingValues({
  swarmKeys,
  topics,
  peer,
  users,
}: Surroundings): Readonly<Record<string, SettingValues>> {
  const nobody = peer.replace(/tcp\/\d+/, 'tcp/9')
  const [anna, bert] = users
  return {
    '/swarm/swarmKey': {
      valid: (random) => random.pick([...swarmKeys, swarmKeys[0], swarmKeys[0]]),
      invalid: ['short', 'x'.repeat(44), 7],
    },
    '/swarm/topic': {
      valid: (random) => random.pick([...topics, topics[0], topics[0]]),
      invalid: [7, '', 'x'.repeat(61)],
    },
    '/swarm/initialPeers': {
      valid: (random) => random.pick([[], [peer], [peer], [nobody, peer]]),
      invalid: ['x', ['x'], ['/ip4/127.0.0.1/tcp/4001'], [peer, peer]],
    },
    '/swarm/announceAddresses': {
      valid: (random) => random.pick([[], ['/ip4/127.0.0.1/tcp/9'], ['/ip4/127.0.0.1/tcp/9', '/ip6/::1/tcp/9']]),
      invalid: [['/'], [peer], [7]],
    },
    '/swarm/blockCacheCount': below(2 ** 18),
    '/swarm/blockCacheSize': below(2 ** 30),
    '/swarm/blockGcInterval': below(300, 30),
    '/swarm/metricsInterval': below(2000),
    '/swarm/pingTimeout': below(20),
    '/swarm/bitswapTimeout': below(20),
    // Found are only nodes that have the swarm key, which is a secret of the test.
    '/swarm/mdns': { valid: (random) => random.chance(0.5), invalid: ['on', 1] },
    '/swarm/branchCacheSize': anything(2 ** 27),
    '/swarm/gossipInterval': anything(5),
    '/swarm/detectionCyclesLowLatency': cycles,
    '/swarm/detectionCyclesHighLatency': cycles,
    '/admin/displayName': { valid: (random) => `node ${random.below(1000)}`, invalid: ['', 7] },
    '/admin/logLevels/node': {
      valid: (random) => random.pick(['ERROR', 'WARN', 'INFO', 'INFO', 'DEBUG', 'swarm=debug,info']),
      invalid: ['Info', '', 'two words'],
    },
    '/admin/authorizedUsers': {
      valid: (random) => random.pick([[anna], [bert], [anna, bert]]),
      invalid: [['x'], [anna, anna], [`0${'x'.repeat(44)}`], anna],
    },
    '/licensing/node': {
      valid: (random) => random.pick(['development', 'x'.repeat(64)]),
      invalid: ['x'.repeat(63), 7],
    },
    '/licensing/apps': {
      valid: (random) => random.pick<Json>([{}, { 'com.example.one': 'testing', 'com.example.two': 'x'.repeat(100) }]),
      invalid: [{ 'com.example.one': 'x' }, { 'a b': 'testing' }, []],
    },
    '/api/events/readOnly': { valid: (random) => random.chance(0.5), invalid: [1, 'true'] },
    '/api/events/_internal': { valid: (random) => ({ any: { thing: random.below(9) } }), invalid: [7, []] },
    '/eventRouting/streams': {
      valid: (random) => ({ [`stream-${random.below(3)}`]: retention(random), default: retention(random) }),
      invalid: [{ default: { maxAge: '1h' } }, { default: { maxEvents: -1 } }, { 'a b': {} }, { default: { max: 1 } }],
    },
    '/eventRouting/routes': {
      valid: (random) =>
        random.pick<Json>([
          [],
          [{ from: "'soak' & 'routed'", into: `stream-${random.below(3)}` }],
          [
            { from: "'nothing'", into: 'never' },
            { from: "'else' | 'routed'", into: `stream-${random.below(3)}` },
          ],
        ]),
      invalid: [[{ from: "'a' )))", into: 'x' }], [{ from: "'a'" }], [{ from: "'a'", into: 'a b' }]],
    },
  }
}

/** The paths of a schema: what is described, and has no described parts. */
export function pathsOfSchema(rule: object = schema, path = ''): string[] {
  const { properties } = rule as { readonly properties?: Readonly<Record<string, object>> }
  return properties === undefined
    ? [path]
    : Object.entries(properties).flatMap(([name, part]) => pathsOfSchema(part, `${path}/${name}`))
}
