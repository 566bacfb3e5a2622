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

/** What goes over the wire, by name. */
export const schemas: Readonly<Record<string, Fragment>> = {
  Error: object({ code: { enum: Object.keys(errorTable) }, message: text }),
  Manifest: object(
    {
      appId: { ...text, pattern: '^[a-z0-9-]+(\\.[a-z0-9-]+)*$', maxLength: format.appIdBytes },
      displayName: text,
      version: text,
      signature: { type: ['string', 'null'], description: 'Made by the developer of the app.' },
    },
    ['signature'],
  ),
  Token: object({ token: text }),
  StreamId: { ...text, description: 'The ID of a node, a dash, and the number of one of its streams.' },
  OffsetMap: { type: 'object', description: 'Offsets by stream.', additionalProperties: count },
  Bounds: {
    type: 'object',
    description:
      'Offsets by stream, as numbers or texts. `min`, like -1, is before the first event, `max` after the last.',
    additionalProperties: {
      anyOf: [
        { type: 'integer', minimum: -1 },
        { type: 'string', pattern: '^(-1|[0-9]+|min|max)$' },
      ],
    },
  },
  Offsets: object({
    present: reference('OffsetMap'),
    toReplicate: { ...reference('OffsetMap'), description: 'How many events are known elsewhere and not yet here.' },
  }),
  PublishRequest: object({
    data: { type: 'array', maxItems: limits.eventsPerPublish, items: reference('EventToPublish') },
  }),
  EventToPublish: object({
    tags: { type: 'array', maxItems: format.tagsPerEvent, items: { ...text, minLength: 1 } },
    payload: { description: 'Any JSON value. Its text is kept, but for the space between its parts.' },
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
      order: { enum: ['asc', 'desc', 'stream-asc'], description: 'Unless the query has an order of its own.' },
      lowerBound: bound('Read after these offsets.'),
      upperBound: bound('Read up to these offsets, and only these streams; they have to be here.'),
    },
    ['lowerBound', 'upperBound'],
  ),
  SubscribeRequest: object(
    { query: { ...text, description: 'AQL.' }, lowerBound: bound('Read after these offsets.') },
    ['lowerBound'],
  ),
  SubscribeMonotonicRequest: object(
    {
      query: { ...text, description: 'AQL.' },
      session: { ...text, description: 'A name that the client chooses.' },
      lowerBound: bound('Read after these offsets; they have to be here.'),
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
      canonical: { ...text, description: 'The query with every parenthesis.' },
      features: { type: 'array', items: text, description: 'The features that it uses.' },
      error: { ...text, description: 'What is wrong with it.' },
      position: { ...count, description: 'Where, in UTF-16 units from the beginning.' },
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
  Cid: { ...text, description: 'A content identifier: what has the same content has the same one.' },
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
