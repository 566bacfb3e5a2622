import { errorTable } from '../../base/errors.ts'
import { format } from '../../base/format.ts'
import { limits } from '../../base/limits.ts'
import type { Fragment } from './shared-parts.ts'

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const reference = (name: string): Fragment => ({ $ref: `#/components/schemas/${name}` })

function object(properties: Fragment, optional: readonly string[] = []): Fragment {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', required, properties }
}

function bound(description: string): Fragment {
  return { anyOf: [reference('Bounds'), { type: 'null' }], description }
}

/** JSON schemas of requests and responses, by name. */
export const schemas: Readonly<Record<string, Fragment>> = {
  Error: object({ code: { enum: Object.keys(errorTable) }, message: text }),
  Manifest: object(
    {
      appId: { ...text, pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)*$', maxLength: format.appIdBytes },
      displayName: text,
      version: text,
      signature: { type: ['string', 'null'], description: 'The signature of the developer of the app.' },
    },
    ['signature'],
  ),
  Token: object({ token: text }),
  StreamId: { ...text, description: 'The ID of a node, a dash, and the number of one of its streams.' },
  OffsetMap: { type: 'object', description: 'Offsets by stream.', additionalProperties: count },
  Bounds: {
    type: 'object',
    description:
      'Offsets by stream, as numbers or strings. `min`, like -1, is before the first event, `max` after the last.',
    additionalProperties: {
      anyOf: [
        { type: 'integer', minimum: -1 },
        { type: 'string', pattern: '^(-1|[0-9]+|min|max)$' },
      ],
    },
  },
  Offsets: object({
    present: reference('OffsetMap'),
    toReplicate: {
      ...reference('OffsetMap'),
      description: 'How many events of a stream are known but not yet replicated to this node.',
    },
  }),
  PublishRequest: object({
    data: { type: 'array', maxItems: limits.eventsPerPublish, items: reference('EventToPublish') },
  }),
  EventToPublish: object({
    tags: { type: 'array', maxItems: format.tagsPerEvent, items: { ...text, minLength: 1 } },
    payload: { description: 'Any JSON value. Its text is kept verbatim, except for insignificant whitespace.' },
  }),
  PublishResponse: object({ data: { type: 'array', items: reference('Published') } }),
  Published: object({
    lamport: count,
    stream: reference('StreamId'),
    offset: count,
    timestamp: { ...count, description: 'Microseconds since the Unix epoch.' },
  }),
  QueryRequest: object(
    {
      query: { ...text, description: 'AQL.' },
      order: { enum: ['asc', 'desc', 'stream-asc'], description: 'The order of events, unless the query has its own.' },
      lowerBound: bound('Read after these offsets (exclusive).'),
      upperBound: bound(
        'Read up to these offsets, inclusive, and only these streams. They must be present on this node.',
      ),
    },
    ['lowerBound', 'upperBound'],
  ),
  SubscribeRequest: object(
    { query: { ...text, description: 'AQL.' }, lowerBound: bound('Read after these offsets (exclusive).') },
    ['lowerBound'],
  ),
  SubscribeMonotonicRequest: object(
    {
      query: { ...text, description: 'AQL.' },
      session: { ...text, description: 'A session name chosen by the client.' },
      lowerBound: bound('Read after these offsets (exclusive). They must be present on this node.'),
    },
    ['lowerBound'],
  ),
  ValidateRequest: object(
    { query: text, endpoint: { enum: ['query', 'subscribe', 'subscribe_monotonic'], default: 'query' } },
    ['endpoint'],
  ),
  Validation: object(
    {
      valid: { type: 'boolean' },
      canonical: { ...text, description: 'The query, fully parenthesized.' },
      features: { type: 'array', items: text, description: 'The features that the query uses.' },
      error: { ...text, description: 'The syntax or type error.' },
      position: { ...count, description: 'Position of the error in UTF-16 code units.' },
    },
    ['canonical', 'features', 'error', 'position'],
  ),
  Listing: object({
    directory: object({
      name: text,
      cid: reference('Cid'),
      children: { type: 'array', items: object({ size: count, name: text, cid: reference('Cid') }) },
    }),
  }),
  Cid: { ...text, description: 'A content identifier (CID): equal content has an equal CID.' },
  Names: object(
    {
      names: { type: 'array', items: object({ name: text, cid: reference('Cid'), size: count }, ['size']) },
      uploads: { type: 'array', items: object({ cid: reference('Cid'), size: count }, ['size']) },
    },
    ['uploads'],
  ),
  Prefetch: object({
    query: { ...text, description: 'AQL.' },
    duration: object({ secs: count, nanos: count }),
  }),
  Removal: object({ cid: reference('Cid') }),
  NodeInfo: object({
    connectedNodes: count,
    uptime: object({ secs: count, nanos: count }),
    version: text,
    swarmState: object({
      peersStatus: {
        type: 'object',
        additionalProperties: { enum: ['LowLatency', 'HighLatency', 'PartiallyWorking', 'NotWorking'] },
      },
    }),
  }),
}
