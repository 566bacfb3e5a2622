import type { Body } from '../shared-parts.ts'
import { type Descriptions, invalid, json, node, unavailable } from './description.ts'

const published = { lamport: 7, stream: `${node}-0`, offset: 5, timestamp: 1794709534259708 }
const event = { tags: ['order', 'order:42'], payload: { type: 'started', amount: 3 } }
const appId = 'com.example.app'
const eventLine = { type: 'event', ...published, tags: event.tags, appId: appId, payload: event.payload }
const offsetsLine = { type: 'offsets', offsets: { [`${node}-0`]: 7 } }

const unsupported = json('The query uses a feature that this endpoint does not support.', 'Error', {
  code: 'ERR_UNSUPPORTED_FEATURE',
  message: 'Feature `limit` is not supported on endpoint `SubscribeMonotonic`.',
})

/** An NDJSON response, with one example line of each kind. */
function lines(description: string, ...messages: readonly unknown[]): Body {
  const example = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
  return { description, content: { 'application/x-ndjson': { schema: { type: 'string' }, example } } }
}

export const eventDescriptions: Descriptions = {
  'GET /api/v2/events': {
    operationId: 'openEventSocket',
    summary: 'Open a WebSocket for all operations on events; the query string is the token',
    tag: 'events',
    responses: {
      101: { description: 'The WebSocket.' },
      400: invalid,
      401: json('The token is missing, malformed or expired.', 'Error', {
        code: 'ERR_MISSING_TOKEN_PARAM',
        message: '"token" parameter is missing.',
      }),
    },
  },
  'GET /api/v2/events/offsets': {
    operationId: 'getOffsets',
    summary: 'The offsets of the events on this node',
    tag: 'events',
    responses: {
      200: json('Offsets by stream.', 'Offsets', { present: { [`${node}-0`]: 7 }, toReplicate: {} }),
      503: unavailable,
    },
  },
  'POST /api/v2/events/publish': {
    operationId: 'publishEvents',
    summary: 'Publish events atomically; the response is sent after fsync',
    tag: 'events',
    requestBody: json('The events.', 'PublishRequest', { data: [event] }),
    responses: {
      200: json('The metadata of each event, in the same order.', 'PublishResponse', { data: [published] }),
      400: invalid,
      503: unavailable,
    },
  },
  'POST /api/v2/events/query': {
    operationId: 'queryEvents',
    summary: 'Query the events on this node with AQL',
    tag: 'events',
    requestBody: json('The query, its order and its bounds.', 'QueryRequest', { query: "FROM 'order'", order: 'asc' }),
    responses: {
      200: lines('Results and diagnostics, then the offsets up to which the query has read.', eventLine, offsetsLine),
      400: invalid,
      503: unavailable,
    },
  },
  'POST /api/v2/events/subscribe': {
    operationId: 'subscribeEvents',
    summary: 'Query the events on this node, and then new events as they arrive',
    tag: 'events',
    requestBody: json('The query, and from where on.', 'SubscribeRequest', { query: "FROM 'order'" }),
    responses: {
      200: lines(
        'Results of present events, then their offsets, then results of new events. An empty line is a keep-alive.',
        eventLine,
        offsetsLine,
      ),
      400: invalid,
      418: unsupported,
      503: unavailable,
    },
  },
  'POST /api/v2/events/subscribe_monotonic': {
    operationId: 'subscribeEventsMonotonic',
    summary: 'Subscribe in strict event order; ends when an event arrives out of order',
    tag: 'events',
    requestBody: json('The query, and from where on.', 'SubscribeMonotonicRequest', {
      query: "FROM 'order'",
      session: 'orders',
    }),
    responses: {
      200: lines(
        'As for a subscription. Ends with `timeTravel` when an event sorts before one that was already sent.',
        { ...eventLine, caughtUp: true },
        offsetsLine,
        { type: 'timeTravel', newStart: { lamport: 3, stream: `${node}-0`, offset: 2 } },
      ),
      400: invalid,
      418: unsupported,
      503: unavailable,
    },
  },
  'POST /api/v2/aql/validate': {
    operationId: 'validateQuery',
    summary: 'Check a query without running it',
    tag: 'events',
    requestBody: json('The query, and the endpoint that it is meant for.', 'ValidateRequest', {
      query: "FROM 'order' FILTER _.amount > 3",
      endpoint: 'query',
    }),
    responses: {
      200: json('The canonical form and features of the query, or its error.', 'Validation', {
        valid: true,
        canonical: "FROM 'order' FILTER (_.amount > 3) END",
        features: [],
      }),
      400: invalid,
      503: unavailable,
    },
  },
}
