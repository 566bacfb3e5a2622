import type { JsonObject } from './json.ts'
import type { Rule, ValueOf } from './schema-type.ts'

/**
 * The JSON schema (draft-06) of the settings document of the specification, and the source of its type. A
 * `description` says what the value is for and what is allowed. Error messages quote it for rules without a message of
 * their own.
 *
 * Semantic rules that a schema cannot express (keys, addresses, routes) are in `semantic-rules.ts`.
 */

const count = (description: string, value: number) =>
  ({ description, type: 'integer', minimum: 0, default: value }) as const satisfies Rule

/** The values that mean "no limit" in retention settings: every default that `get` shows is accepted by `set`. */
const noLimit = [0, '0', null] as const

const streamSettings = {
  description: 'How long the events of a stream are kept. An event stays only while all limits allow it.',
  type: 'object',
  additionalProperties: false,
  default: {},
  properties: {
    maxEvents: {
      description: 'How many of the newest events to keep: a whole number; 0 means no limit',
      anyOf: [{ type: 'integer', minimum: 0 }, { enum: noLimit }],
      default: 0,
    },
    maxSize: {
      description:
        'How much storage the stream may take, its oldest events go first: a whole number with a unit (B, kB, MB, GB, KiB, MiB, GiB) or bytes without one, like "10MiB"; "0" means no limit',
      anyOf: [{ type: 'string', pattern: '^[1-9][0-9]*(B|kB|MB|GB|KiB|MiB|GiB)?$' }, { enum: noLimit }],
      default: '0',
    },
    maxAge: {
      description:
        'How old events may get: a whole number of at least two digits with a unit (s, m, h, d, w), like "24h"; null means no limit',
      anyOf: [{ type: 'string', pattern: '^[1-9][0-9]+(s|m|h|d|w)$' }, { enum: noLimit }],
      default: null,
    },
  },
} as const satisfies Rule

/** The default swarm key, which is public. */
export const publicSwarmKey = Buffer.from('00000000111111112222222233333333').toString('base64')

const swarm = {
  type: 'object',
  additionalProperties: false,
  properties: {
    swarmKey: {
      description: 'The key that all nodes of the swarm share: base64 of 32 bytes, 44 characters',
      type: 'string',
      minLength: 44,
      maxLength: 44,
      default: publicSwarmKey,
    },
    topic: {
      description: 'Nodes replicate events within a topic; each topic has a store of its own',
      type: 'string',
      minLength: 1,
      maxLength: 60,
      default: 'default-topic',
    },
    initialPeers: {
      description: 'Nodes to connect to: multiaddresses that end in a peer ID',
      type: 'array',
      uniqueItems: true,
      items: { type: 'string' },
      default: [],
    },
    announceAddresses: {
      description: 'Addresses to tell to other nodes (NAT, containers): multiaddresses without a peer ID',
      type: 'array',
      uniqueItems: true,
      items: { type: 'string' },
      default: [],
    },
    blockCacheCount: count('How many blocks to keep that nothing pins', 131072),
    blockCacheSize: count('How many bytes of blocks to keep that nothing pins', 1073741824),
    blockGcInterval: {
      description: 'Seconds between two garbage collections of the block store',
      type: 'integer',
      minimum: 30,
      default: 300,
    },
    metricsInterval: count('Seconds between two metrics events; 0 switches them off', 1800),
    pingTimeout: count('Seconds to wait for the answer to a ping', 5),
    bitswapTimeout: count('Seconds to wait for a block from a peer', 15),
    mdns: { description: 'Whether to find peers on the local network', type: 'boolean', default: true },
    branchCacheSize: {
      description: 'Bytes of memory for cached events and indexes of new ones, of all reader threads together',
      type: 'integer',
      default: 67108864,
    },
    gossipInterval: {
      description: 'Seconds between two announcements of what this node has; at least 1 is used',
      type: 'integer',
      default: 10,
    },
    detectionCyclesLowLatency: {
      description: 'Multiple of gossipInterval within which replication counts as of low latency',
      type: 'number',
      default: 2,
    },
    detectionCyclesHighLatency: {
      description: 'Multiple of gossipInterval within which replication counts as working',
      type: 'number',
      default: 5,
    },
  },
} as const satisfies Rule

const admin = {
  type: 'object',
  additionalProperties: false,
  properties: {
    displayName: {
      description: 'The name of this node for people',
      type: 'string',
      minLength: 1,
      default: 'Default Node',
    },
    logLevels: {
      type: 'object',
      additionalProperties: false,
      properties: {
        node: {
          description:
            'What is logged: ERROR, WARN, INFO or DEBUG, or a filter in lower case like "swarm=debug,info" or "trace"',
          type: 'string',
          pattern: '^(ERROR|WARN|INFO|DEBUG|[a-z0-9_:,=]+)$',
          default: 'INFO',
        },
      },
    },
    authorizedUsers: {
      description: 'Public keys of the users who may manage this node, 45 characters each',
      type: 'array',
      uniqueItems: true,
      items: { type: 'string', minLength: 45, maxLength: 45 },
      default: [],
    },
  },
} as const satisfies Rule

const licensing = {
  type: 'object',
  additionalProperties: false,
  properties: {
    node: {
      description: 'The licence of this node: "development", or a licence of at least 64 characters',
      oneOf: [{ enum: ['development'] }, { type: 'string', minLength: 64 }],
      default: 'development',
    },
    apps: {
      description: 'The licences of apps, by app ID',
      type: 'object',
      additionalProperties: false,
      patternProperties: {
        '^[\\w-]+(\\.[\\w-]+)*$': {
          description: 'The licence of an app: "testing", or a licence of at least 100 characters',
          oneOf: [{ enum: ['testing'] }, { type: 'string', minLength: 100 }],
        },
      },
      default: {},
    },
  },
} as const satisfies Rule

const api = {
  type: 'object',
  additionalProperties: false,
  properties: {
    events: {
      type: 'object',
      additionalProperties: false,
      properties: {
        readOnly: {
          description: 'Whether this node keeps its events to itself: it receives, but announces nothing',
          type: 'boolean',
          default: false,
        },
        _internal: { description: 'Free for anything, without effect', type: 'object' },
      },
    },
  },
} as const satisfies Rule

const eventRouting = {
  type: 'object',
  additionalProperties: false,
  properties: {
    streams: {
      description: 'How long events are kept, by stream name',
      type: 'object',
      additionalProperties: false,
      patternProperties: { '^[a-zA-Z0-9_-]+$': streamSettings },
      default: {},
    },
    routes: {
      description: 'Which events go into which stream: the first route that matches decides, else it is "default"',
      type: 'array',
      items: {
        type: 'object',
        additionalProperties: false,
        required: ['from', 'into'],
        properties: {
          from: { description: "Quoted tags joined by | and &, like 'a' & 'b'", type: 'string' },
          into: { description: 'The name of a stream', type: 'string', pattern: '^[a-zA-Z0-9_-]+$' },
        },
      },
      default: [],
    },
  },
} as const satisfies Rule

const settingsRule = {
  $schema: 'http://json-schema.org/draft-06/schema#',
  title: 'Settings of a shoal node',
  type: 'object',
  additionalProperties: false,
  properties: { swarm, admin, licensing, api, eventRouting },
} as const satisfies Rule

/** A settings document with every default filled in, as the schema has it. */
export type SettingsDocument = ValueOf<typeof settingsRule>

export type RetentionSettings = ValueOf<typeof streamSettings>

/** The schema as data: it is shown to users, and read by the validator. */
export const schema: JsonObject = settingsRule as object as JsonObject
