import { type Descriptions, invalid, json, node, text } from './description.ts'

const manifest = { appId: 'com.example.app', displayName: 'My app', version: '1.0.0' }
const info = {
  connectedNodes: 1,
  uptime: { secs: 23, nanos: 448608866 },
  version: '3.0.0-0123abc-linux-x86_64-release',
  swarmState: { peersStatus: { [node]: 'LowLatency' } },
}
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

export const nodeDescriptions: Descriptions = {
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
