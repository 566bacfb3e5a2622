import type { Body, Fragment, Parameter } from './shared-parts.ts'

/** What an operation does, beyond what its rules say. */
export interface Description {
  /** What generated clients call it: it stays when paths or texts change. */
  readonly operationId: string
  readonly summary: string
  readonly tag: 'authentication' | 'events' | 'node' | 'files' | 'blobs' | 'operations'
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  /** Answers by status; those that follow from the rules of the endpoint are added. */
  readonly responses: Readonly<Record<string, Body>>
}

const reference = (name: string): Fragment => ({ $ref: `#/components/schemas/${name}` })

function json(description: string, schema: string, example: unknown): Body {
  return { description, content: { 'application/json': { schema: reference(schema), example } } }
}

function text(description: string, type: string, example: string): Body {
  return { description, content: { [type]: { schema: { type: 'string' }, example } } }
}

const node = '.E61/.I4/kU70UgA1EsD2/2G2lEJ3VQM4FcP5/oS5m.'
const manifest = { appId: 'com.example.app', displayName: 'My app', version: '1.0.0' }
const published = { lamport: 7, stream: `${node}-0`, offset: 5, timestamp: 1794709534259708 }
const event = { tags: ['order', 'order:42'], payload: { type: 'started', amount: 3 } }
const info = {
  connectedNodes: 1,
  uptime: { secs: 23, nanos: 448608866 },
  version: '3.0.0-0123abc-linux-x86_64-release',
  swarmState: { peersStatus: { [node]: 'LowLatency' } },
}
const invalid = json('The request cannot be understood, or goes past a limit.', 'Error', {
  code: 'ERR_BAD_REQUEST',
  message: 'Invalid request. missing field `data` at line 1 column 2',
})
const unavailable = json('Too much waits to be stored, the disk refuses, or the node is stopping.', 'Error', {
  code: 'ERR_SERVICE_OVERLOADED',
  message: 'Service overloaded. Channel towards event store is overloaded.',
})
const unsupported = json('A part of the language that this endpoint does not have.', 'Error', {
  code: 'ERR_UNSUPPORTED_FEATURE',
  message: 'Feature `limit` is not supported on endpoint `SubscribeMonotonic`.',
})
const eventLine = { type: 'event', ...published, tags: event.tags, appId: manifest.appId, payload: event.payload }
const offsetsLine = { type: 'offsets', offsets: { [`${node}-0`]: 7 } }

/** Lines of JSON, with one example of each kind. */
function lines(description: string, ...messages: readonly unknown[]): Body {
  const example = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
  return { description, content: { 'application/x-ndjson': { schema: { type: 'string' }, example } } }
}

const empty = { description: 'Done, or nothing there.' }
const blobPath = [
  {
    name: 'app',
    in: 'path',
    required: true,
    description: 'An app ID, or `-` for the app of the token.',
    schema: { type: 'string' },
    example: '-',
  },
  {
    name: 'path',
    in: 'path',
    required: true,
    description: 'Everything after the app, with its slashes, as it is.',
    schema: { type: 'string' },
    example: 'settings/colour',
  },
]
const cid = 'bafybeiczs2knqj54uvbtp7i52xcvaa3jhhkccltush2nwnshpqozodenpa'
const fileAddress = [
  {
    name: 'address',
    in: 'path',
    required: true,
    description: 'A content identifier or a name, and a path below it with its slashes, percent-encoded.',
    schema: { type: 'string' },
    example: `${cid}/index.html`,
  },
]
const fileName = [
  {
    name: 'address',
    in: 'path',
    required: true,
    description: 'A name, which must not be a content identifier.',
    schema: { type: 'string' },
    example: 'my-app',
  },
]
function flag(name: string, description: string): Parameter {
  return { name, in: 'query', required: false, description, schema: { type: 'boolean' }, example: 'false' }
}
const refused = json('Neither a name nor a content identifier.', 'Error', {
  code: 'ERR_METHOD_NOT_ALLOWED',
  message: 'Method not supported.',
})
const absent = json('Nothing is there.', 'Error', {
  code: 'ERR_NOT_FOUND',
  message: 'The requested resource could not be found.',
})
const ready = { description: 'Ready.', content: { 'application/json': { example: { status: 'ready' } } } }
const notReady = {
  description: 'Something is missing.',
  content: {
    'application/json': {
      example: { status: 'not ready', reasons: [{ component: 'Events', state: 'starting' }] },
    },
  },
}
const alive = { description: 'Alive.', content: { 'application/json': { example: { status: 'alive' } } } }
const metrics = text('The text exposition format.', 'text/plain', 'shoal_events_published_total 42\n')

/** By method and path. */
export const descriptions: Readonly<Record<string, Description>> = {
  'POST /api/v2/auth': {
    operationId: 'getToken',
    summary: 'Get a token for an app',
    tag: 'authentication',
    requestBody: json('What the app says of itself.', 'Manifest', manifest),
    responses: {
      200: json('The token; it is good for a day, and until the node is started again.', 'Token', {
        token: 'AAAAXaZnY3JlYXRlZBs…',
      }),
      400: invalid,
      401: json('On a licensed node: no valid licence.', 'Error', {
        code: 'ERR_APP_UNAUTHORIZED',
        message:
          "App 'com.acme.app' is not authorized: no license found. Provide a valid app license in the node settings.",
      }),
    },
  },
  'GET /api/v2/node/id': {
    operationId: 'getNodeId',
    summary: 'The ID of the node',
    tag: 'node',
    responses: { 200: text('The ID.', 'text/plain', node) },
  },
  'GET /api/v2/node/info': {
    operationId: 'getNodeInfo',
    summary: 'Version, uptime and swarm of the node',
    tag: 'node',
    responses: { 200: json('What the node says of itself.', 'NodeInfo', info) },
  },
  'GET /api/v2/events': {
    operationId: 'openEventSocket',
    summary: 'A WebSocket for all that can be done with events; the token is its query',
    tag: 'events',
    responses: {
      101: { description: 'The WebSocket.' },
      400: invalid,
      401: json('No token, or none that is valid.', 'Error', {
        code: 'ERR_MISSING_TOKEN_PARAM',
        message: '"token" parameter is missing.',
      }),
    },
  },
  'GET /api/v2/events/offsets': {
    operationId: 'getOffsets',
    summary: 'Which events are here',
    tag: 'events',
    responses: {
      200: json('By stream.', 'Offsets', { present: { [`${node}-0`]: 7 }, toReplicate: {} }),
      503: unavailable,
    },
  },
  'POST /api/v2/events/publish': {
    operationId: 'publishEvents',
    summary: 'Publish events: all of them or none; answered when they are on the disk',
    tag: 'events',
    requestBody: json('The events.', 'PublishRequest', { data: [event] }),
    responses: {
      200: json('What each of them got, in the same order.', 'PublishResponse', { data: [published] }),
      400: invalid,
      503: unavailable,
    },
  },
  'POST /api/v2/events/query': {
    operationId: 'queryEvents',
    summary: 'Ask for events that are here, in the query language AQL',
    tag: 'events',
    requestBody: json('The query, and what it is to read.', 'QueryRequest', { query: "FROM 'order'", order: 'asc' }),
    responses: {
      200: lines('Results, diagnostics, and at the end the offsets up to which it was read.', eventLine, offsetsLine),
      400: invalid,
      503: unavailable,
    },
  },
  'POST /api/v2/events/subscribe': {
    operationId: 'subscribeEvents',
    summary: 'Ask for events that are here, and then for those that come',
    tag: 'events',
    requestBody: json('The query, and from where on.', 'SubscribeRequest', { query: "FROM 'order'" }),
    responses: {
      200: lines(
        'Results of what is here, the offsets up to which that is, then results as events come. An empty line every 15 seconds without any.',
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
    summary: 'The same in the order of all events only',
    tag: 'events',
    requestBody: json('The query, and from where on.', 'SubscribeMonotonicRequest', {
      query: "FROM 'order'",
      session: 'orders',
    }),
    responses: {
      200: lines(
        'As for a subscription; it ends with the place of an event that has to be sorted in before one that was sent.',
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
    requestBody: json('The query, and where it is to be sent.', 'ValidateRequest', {
      query: "FROM 'order' FILTER _.amount > 3",
      endpoint: 'query',
    }),
    responses: {
      200: json('What it says and uses, or what is wrong with it.', 'Validation', {
        valid: true,
        canonical: "FROM 'order' FILTER (_.amount > 3) END",
        features: [],
      }),
      400: invalid,
      503: unavailable,
    },
  },
  'GET /api/v2/files': {
    operationId: 'listFiles',
    summary: 'All names',
    tag: 'files',
    parameters: [flag('uploads', 'Whether to list uploads without a name as well, the newest first.')],
    responses: { 200: json('By name.', 'Names', { names: [{ name: 'my-app', cid, size: 129 }] }) },
  },
  'POST /api/v2/files': {
    operationId: 'uploadFiles',
    summary: 'Store a file, or several as a directory',
    tag: 'files',
    parameters: [flag('directory', 'Whether a single file becomes a directory as well.')],
    requestBody: {
      description: 'A form with a part for each file; its file name is the path in the directory.',
      content: { 'multipart/form-data': { schema: { type: 'object', properties: { file: { type: 'string' } } } } },
    },
    responses: {
      200: text('The identifier of the file, or of the directory.', 'text/plain', cid),
      400: invalid,
      415: json('The body is no form.', 'Error', {
        code: 'ERR_UNSUPPORTED_MEDIA_TYPE',
        message: "The request's content-type is not supported.",
      }),
      503: unavailable,
    },
  },
  'GET /api/v2/files/{address}': {
    operationId: 'getFile',
    summary: 'Read a file, or list a directory',
    tag: 'files',
    parameters: fileAddress,
    responses: {
      200: {
        description:
          'The bytes of a file, or what is in a directory: its `index.html` or a page where HTML is accepted, JSON otherwise.',
        content: {
          'application/json': {
            schema: reference('Listing'),
            example: { directory: { name: '/', cid, children: [{ size: 16, name: 'index.html', cid }] } },
          },
          'text/html': {},
          '*/*': {},
        },
      },
      206: { description: 'The range of bytes that the request asks for.', content: { '*/*': {} } },
      301: { description: 'The same address with a slash at its end.' },
      304: { description: 'The client has it.' },
      404: absent,
      405: refused,
      416: json('There are no such bytes.', 'Error', {
        code: 'ERR_RANGE_NOT_SATISFIABLE',
        message: 'The file has 16 bytes, none of which is in the range.',
      }),
    },
  },
  'PUT /api/v2/files/{address}': {
    operationId: 'bindFileName',
    summary: 'Give a name to a content identifier',
    tag: 'files',
    parameters: fileName,
    requestBody: text('The content identifier.', 'text/plain', cid),
    responses: { 200: text('The identifier that the name meant before, if any.', 'text/plain', cid), 405: refused },
  },
  'DELETE /api/v2/files/{address}': {
    operationId: 'unbindFileName',
    summary: 'Take a name away',
    tag: 'files',
    parameters: fileName,
    responses: { 200: text('The identifier that the name meant, if any.', 'text/plain', cid), 405: refused },
  },
  'POST /api/v2/files/prefetch': {
    operationId: 'prefetchFiles',
    summary: 'Keep what a query finds, instead of what the query of this app before has found',
    tag: 'files',
    requestBody: json('The query, whose results are content identifiers, and how long to keep them.', 'Prefetch', {
      query: "FROM 'picture' SELECT _.cid",
      duration: { secs: 86400, nanos: 0 },
    }),
    responses: { 204: empty, 400: invalid },
  },
  'POST /api/v2/files/remove': {
    operationId: 'removeFile',
    summary: 'Keep an upload no longer, on any node',
    tag: 'files',
    requestBody: json('What was uploaded.', 'Removal', { cid }),
    responses: { 204: empty, 400: invalid, 404: absent },
  },
  'GET /api/v2/blob/{app}/{path}': {
    operationId: 'getBlob',
    summary: 'Read a blob, or list a folder of blobs',
    tag: 'blobs',
    parameters: blobPath,
    responses: {
      200: { description: 'The bytes with their type, or the listing of a folder as JSON.', content: { '*/*': {} } },
      204: empty,
      400: invalid,
      406: json('The blob is of another type.', 'Error', {
        code: 'ERR_NOT_ACCEPTABLE',
        message: "Content with type 'text/html' was requested but …",
      }),
    },
  },
  'PUT /api/v2/blob/{app}/{path}': {
    operationId: 'putBlob',
    summary: 'Store a blob of the own app',
    tag: 'blobs',
    parameters: blobPath,
    requestBody: { required: true, content: { '*/*': { schema: {} } } },
    responses: { 204: empty, 400: invalid, 503: unavailable },
  },
  'DELETE /api/v2/blob/{app}/{path}': {
    operationId: 'deleteBlob',
    summary: 'Remove a blob, and everything below its path',
    tag: 'blobs',
    parameters: blobPath,
    responses: { 204: empty, 400: invalid, 503: unavailable },
  },
  'POST /api/v2/blob/{app}/{path}': {
    operationId: 'postBlob',
    summary: 'Reserved',
    tag: 'blobs',
    parameters: blobPath,
    responses: { 204: empty },
  },
  'GET /api/v2/health': {
    operationId: 'getHealth',
    summary: 'Whether the node lives',
    tag: 'operations',
    responses: { 200: alive },
  },
  'GET /api/v2/ready': {
    operationId: 'getReadiness',
    summary: 'Whether every part of the node is up',
    tag: 'operations',
    responses: { 200: ready, 503: notReady },
  },
  'GET /api/v2/metrics': {
    operationId: 'getMetrics',
    summary: 'What the node counts',
    tag: 'operations',
    responses: { 200: metrics },
  },
  'GET /api/v2/openapi': {
    operationId: 'getApiPage',
    summary: 'A page to read this document on, and to try what it describes',
    tag: 'operations',
    responses: { 200: { description: 'The page.', content: { 'text/html': {} } } },
  },
  'GET /api/v2/openapi.json': {
    operationId: 'getApiDescription',
    summary: 'This document',
    tag: 'operations',
    responses: { 200: { description: 'OpenAPI 3.1.', content: { 'application/json': {} } } },
  },
}
