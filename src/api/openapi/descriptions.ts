import type { Body, Fragment, Parameter } from './shared-parts.ts'

/** The description of an operation, without what follows from the checks of its route. */
export interface Description {
  /** The method name in generated clients: stable, also when paths or texts change. */
  readonly operationId: string
  readonly summary: string
  readonly tag: 'authentication' | 'events' | 'node' | 'files' | 'blobs' | 'operations'
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  /** Responses by status; those of the common checks are added. */
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
const invalid = json('The request is malformed or exceeds a limit.', 'Error', {
  code: 'ERR_BAD_REQUEST',
  message: 'Invalid request. missing field `data` at line 1 column 2',
})
const unavailable = json('The store is overloaded, the disk fails, or the node is shutting down.', 'Error', {
  code: 'ERR_SERVICE_OVERLOADED',
  message: 'Service overloaded. Channel towards event store is overloaded.',
})
const unsupported = json('The query uses a feature that this endpoint does not support.', 'Error', {
  code: 'ERR_UNSUPPORTED_FEATURE',
  message: 'Feature `limit` is not supported on endpoint `SubscribeMonotonic`.',
})
const eventLine = { type: 'event', ...published, tags: event.tags, appId: manifest.appId, payload: event.payload }
const offsetsLine = { type: 'offsets', offsets: { [`${node}-0`]: 7 } }

/** An NDJSON response, with one example line of each kind. */
function lines(description: string, ...messages: readonly unknown[]): Body {
  const example = messages.map((message) => `${JSON.stringify(message)}\n`).join('')
  return { description, content: { 'application/x-ndjson': { schema: { type: 'string' }, example } } }
}

const empty = { description: 'Done, or no content.' }
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
    description: 'Everything after the app, slashes included, taken verbatim.',
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
    description: 'A content identifier or a name, followed by a path below it; percent-encoded except for the slashes.',
    schema: { type: 'string' },
    example: `${cid}/index.html`,
  },
]
const fileName = [
  {
    name: 'address',
    in: 'path',
    required: true,
    description: 'A name that is not a content identifier.',
    schema: { type: 'string' },
    example: 'my-app',
  },
]
function flag(name: string, description: string): Parameter {
  return { name, in: 'query', required: false, description, schema: { type: 'boolean' }, example: 'false' }
}
const refused = json('The address is neither a name nor a content identifier.', 'Error', {
  code: 'ERR_METHOD_NOT_ALLOWED',
  message: 'Method not supported.',
})
const absent = json('Not found.', 'Error', {
  code: 'ERR_NOT_FOUND',
  message: 'The requested resource could not be found.',
})
const ready = { description: 'Ready.', content: { 'application/json': { example: { status: 'ready' } } } }
const notReady = {
  description: 'Not ready: some components are not running.',
  content: {
    'application/json': {
      example: { status: 'not ready', reasons: [{ component: 'Events', state: 'starting' }] },
    },
  },
}
const alive = { description: 'Alive.', content: { 'application/json': { example: { status: 'alive' } } } }
const metrics = text('Metrics in the Prometheus text format.', 'text/plain', 'shoal_events_published_total 42\n')

/** Descriptions by method and path. */
export const descriptions: Readonly<Record<string, Description>> = {
  'POST /api/v2/auth': {
    operationId: 'getToken',
    summary: 'Get a token for an app',
    tag: 'authentication',
    requestBody: json('The manifest of the app.', 'Manifest', manifest),
    responses: {
      200: json('The token. It is valid for a day, or until the node restarts.', 'Token', {
        token: 'AAAAXaZnY3JlYXRlZBs…',
      }),
      400: invalid,
      401: json('The node is licensed and the app has no valid licence.', 'Error', {
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
    responses: { 200: json('Information about the node.', 'NodeInfo', info) },
  },
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
  'GET /api/v2/files': {
    operationId: 'listFiles',
    summary: 'List all names',
    tag: 'files',
    parameters: [flag('uploads', 'Also list uploads without a name, newest first.')],
    responses: { 200: json('All names.', 'Names', { names: [{ name: 'my-app', cid, size: 129 }] }) },
  },
  'POST /api/v2/files': {
    operationId: 'uploadFiles',
    summary: 'Upload a file, or several files as a directory',
    tag: 'files',
    parameters: [flag('directory', 'Also wrap a single file in a directory.')],
    requestBody: {
      description: 'A multipart form with one part per file; the file name of a part is its path in the directory.',
      content: { 'multipart/form-data': { schema: { type: 'object', properties: { file: { type: 'string' } } } } },
    },
    responses: {
      200: text('The identifier of the file, or of the directory.', 'text/plain', cid),
      400: invalid,
      415: json('The request body is not multipart.', 'Error', {
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
          'A file, or a directory: its `index.html` or an HTML listing if `Accept` contains HTML, else a JSON listing.',
        content: {
          'application/json': {
            schema: reference('Listing'),
            example: { directory: { name: '/', cid, children: [{ size: 16, name: 'index.html', cid }] } },
          },
          'text/html': {},
          '*/*': {},
        },
      },
      206: { description: 'The requested byte range.', content: { '*/*': {} } },
      301: { description: 'Redirect to the address with a trailing slash.' },
      304: { description: 'Not modified: `If-None-Match` has the current ETag.' },
      404: absent,
      405: refused,
      416: json('The range is outside of the file.', 'Error', {
        code: 'ERR_RANGE_NOT_SATISFIABLE',
        message: 'The file has 16 bytes, none of which is in the range.',
      }),
    },
  },
  'PUT /api/v2/files/{address}': {
    operationId: 'bindFileName',
    summary: 'Bind a name to a content identifier',
    tag: 'files',
    parameters: fileName,
    requestBody: text('The content identifier.', 'text/plain', cid),
    responses: {
      200: text('The content identifier that the name was bound to before, if any.', 'text/plain', cid),
      405: refused,
    },
  },
  'DELETE /api/v2/files/{address}': {
    operationId: 'unbindFileName',
    summary: 'Unbind a name',
    tag: 'files',
    parameters: fileName,
    responses: {
      200: text('The content identifier that the name was bound to, if any.', 'text/plain', cid),
      405: refused,
    },
  },
  'POST /api/v2/files/prefetch': {
    operationId: 'prefetchFiles',
    summary: 'Prefetch and keep the results of a query; replaces the previous prefetch of this app',
    tag: 'files',
    requestBody: json('A query that returns content identifiers, and how long to keep their content.', 'Prefetch', {
      query: "FROM 'picture' SELECT _.cid",
      duration: { secs: 86400, nanos: 0 },
    }),
    responses: { 204: empty, 400: invalid },
  },
  'POST /api/v2/files/remove': {
    operationId: 'removeFile',
    summary: 'Remove an upload from all nodes',
    tag: 'files',
    requestBody: json('The content identifier of the upload.', 'Removal', { cid }),
    responses: { 204: empty, 400: invalid, 404: absent },
  },
  'GET /api/v2/blob/{app}/{path}': {
    operationId: 'getBlob',
    summary: 'Read a blob, or list a folder of blobs',
    tag: 'blobs',
    parameters: blobPath,
    responses: {
      200: { description: 'The blob with its content type, or the JSON listing of a folder.', content: { '*/*': {} } },
      204: empty,
      400: invalid,
      406: json('The `Accept` header excludes the content type of the blob.', 'Error', {
        code: 'ERR_NOT_ACCEPTABLE',
        message: "Content with type 'text/html' was requested but …",
      }),
    },
  },
  'PUT /api/v2/blob/{app}/{path}': {
    operationId: 'putBlob',
    summary: 'Store a blob of the calling app',
    tag: 'blobs',
    parameters: blobPath,
    requestBody: { required: true, content: { '*/*': { schema: {} } } },
    responses: { 204: empty, 400: invalid, 503: unavailable },
  },
  'DELETE /api/v2/blob/{app}/{path}': {
    operationId: 'deleteBlob',
    summary: 'Delete a blob, and everything below its path',
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
    summary: 'Liveness probe',
    tag: 'operations',
    responses: { 200: alive },
  },
  'GET /api/v2/ready': {
    operationId: 'getReadiness',
    summary: 'Readiness probe: whether all components are running',
    tag: 'operations',
    responses: { 200: ready, 503: notReady },
  },
  'GET /api/v2/metrics': {
    operationId: 'getMetrics',
    summary: 'Prometheus metrics',
    tag: 'operations',
    responses: { 200: metrics },
  },
  'GET /api/v2/openapi': {
    operationId: 'getApiPage',
    summary: 'The API explorer: a page to read this document and to send requests',
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
