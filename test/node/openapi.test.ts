import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Content, OpenApi, Operation } from '../../src/api/openapi/shared-parts.ts'
import { limits } from '../../src/base/limits.ts'
import { manifest } from '../support/api.ts'
import { form, json, startNode, type TestNode } from '../support/node.ts'

/** The OpenAPI document of a running node, to check responses against. */
class Described {
  readonly #document: OpenApi
  readonly #ajv = new Ajv2020({ strict: false })

  private constructor(document: OpenApi) {
    this.#document = document
    this.#ajv.addSchema({ $id: 'api', components: document.components })
  }

  static async by({ call }: TestNode): Promise<Described> {
    return new Described((await (await call('/api/v2/openapi.json')).json()) as OpenApi)
  }

  get operations(): [name: string, Operation][] {
    return Object.entries(this.#document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, Operation] => [
        `${method.toUpperCase()} ${path}`,
        operation,
      ]),
    )
  }

  operation(name: string): Operation {
    const [, operation] = this.operations.find(([key]) => key === name) ?? []
    assert.ok(operation, `${name} is described`)
    return operation
  }

  /** Checks status, content type and body of a response; of a stream only the first line. */
  async check(name: string, response: Response): Promise<void> {
    const { status, headers } = response
    const { content } = this.operation(name).responses[status] ?? {}
    const type = headers.get('content-type')?.split(';')[0] ?? ''
    const body = type === 'application/x-ndjson' ? await firstLine(response) : await response.text()
    assert.ok(content !== undefined || body === '', `${name} responds with ${status} and ${body}`)
    if (content === undefined) return
    const described = content[type] ?? content['*/*']
    assert.ok(described, `${name} responds with ${status} and content type ${type}`)
    if (type === 'application/json') this.#checkShape(`${name} ${status}`, described, JSON.parse(body))
    if (type === 'application/x-ndjson') checkLine(name, described, body)
  }

  #checkShape(name: string, { schema = {} }: Content, value: unknown): void {
    const text = JSON.stringify(schema).replaceAll('#/components', 'api#/components')
    const fits = this.#ajv.validate(JSON.parse(text) as object, value)
    assert.ok(fits, `${name}: ${this.#ajv.errorsText()} in ${JSON.stringify(value)}`)
  }
}

async function firstLine({ body }: Response): Promise<string> {
  assert.ok(body)
  let text = ''
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (text.includes('\n')) break
  }
  return text.split('\n')[0] ?? ''
}

/** Checks that a line has the members of the example with the same `type`. */
function checkLine(name: string, { example }: Content, line: string): void {
  const lines = String(example).trimEnd().split('\n')
  const [value, ...examples] = [line, ...lines].map((text) => JSON.parse(text) as Record<string, unknown>)
  const like = examples.find(({ type }) => type === value?.['type'])
  assert.deepEqual(Object.keys(value ?? {}).sort(), Object.keys(like ?? {}).sort(), name)
}

/** The path of an operation, with its parameters replaced by their examples. */
function exampleUrl(name: string, { parameters = [] }: Operation): string {
  const [, path = ''] = name.split(' ')
  return parameters.reduce((url, parameter) => url.replace(`{${parameter.name}}`, parameter.example), path)
}

/** The example request of an operation. */
function exampleRequest(name: string, { requestBody }: Operation): RequestInit {
  const [method = ''] = name.split(' ')
  const [[type, { example }] = ['', { example: undefined }]] = Object.entries(requestBody?.content ?? {})
  if (type === 'multipart/form-data') {
    const { body, type: withBoundary } = form([
      ['index.html', '<html>hi</html>\n'],
      ['s.css', 'body{}'],
    ])
    return { method, body, headers: { 'content-type': withBoundary } }
  }
  if (type === '*/*') return { method, body: 'red', headers: { 'content-type': 'text/plain' } }
  if (type === '') return { method }
  return {
    method,
    body: typeof example === 'string' ? example : JSON.stringify(example),
    headers: { 'content-type': type },
  }
}

test('every example request of the OpenAPI document gets the documented response', async (t) => {
  const node = await startNode(t)
  const described = await Described.by(node)
  // Writes before reads, removals last.
  const rank = (name: string): number => ['DELETE', 'POST', 'PUT', 'GET'].indexOf(name.split(' ')[0] ?? '')
  const removes = (name: string): boolean => name.startsWith('DELETE') || name.endsWith('/remove')
  const operations = described.operations
    .filter(([name]) => name !== 'GET /api/v2/events')
    .sort(([a], [b]) => Number(removes(a)) - Number(removes(b)) || rank(a) - rank(b))
  for (const [name, operation] of operations) {
    const response = await node.call(exampleUrl(name, operation), exampleRequest(name, operation))
    assert.ok(response.ok, `${name} responds with ${response.status}: ${response.ok || (await response.text())}`)
    await described.check(name, response)
  }
})

interface Refused {
  readonly operation: string
  readonly status: number
  readonly path?: string
  readonly request?: RequestInit
}

const post = (value: unknown, headers: Record<string, string> = {}): RequestInit => ({
  method: 'POST',
  body: typeof value === 'string' ? value : JSON.stringify(value),
  headers: { ...json, ...headers },
})
const noToken = { authorization: 'Bearer rubbish' }
const tooLong = ' '.repeat(limits.bodyBytes + 1)
const subscriptions = ['POST /api/v2/events/subscribe', 'POST /api/v2/events/subscribe_monotonic']
const bodies = [
  'POST /api/v2/events/publish',
  'POST /api/v2/events/query',
  ...subscriptions,
  'POST /api/v2/aql/validate',
]
const ofUnknownLength: RequestInit = {
  method: 'POST',
  body: new Blob(['--x--']).stream(),
  duplex: 'half',
  headers: { 'content-type': 'multipart/form-data; boundary=x' },
}
const file = 'bafybeif7ztnhq65lumvvtr4ekcwd2ifwgm3awq4zfr3srh462rwyinlb4y'

const refusals: readonly Refused[] = [
  { operation: 'POST /api/v2/auth', status: 400, request: post({}) },
  { operation: 'POST /api/v2/auth', status: 406, request: post(manifest, { accept: 'text/html' }) },
  { operation: 'POST /api/v2/auth', status: 413, request: post({ ...manifest, version: tooLong.slice(0, 100_000) }) },
  { operation: 'POST /api/v2/auth', status: 415, request: post(manifest, { 'content-type': 'text/plain' }) },
  { operation: 'GET /api/v2/node/id', status: 406, request: { headers: { accept: 'text/html' } } },
  { operation: 'GET /api/v2/node/info', status: 401, request: { headers: noToken } },
  { operation: 'GET /api/v2/events', status: 400 },
  { operation: 'GET /api/v2/events/offsets', status: 401, request: { headers: noToken } },
  { operation: 'GET /api/v2/events/offsets', status: 406, request: { headers: { accept: 'text/html' } } },
  ...bodies.flatMap((operation): Refused[] => [
    { operation, status: 400, request: post({}) },
    { operation, status: 401, request: post({}, noToken) },
    { operation, status: 406, request: post({}, { accept: 'text/html' }) },
    { operation, status: 413, request: post(tooLong) },
    { operation, status: 415, request: post({}, { 'content-type': 'text/plain' }) },
  ]),
  ...subscriptions.map((operation): Refused => {
    const query = 'FEATURES(fromArray) FROM [1]'
    return { operation, status: 418, request: post({ query, session: 's' }) }
  }),
  { operation: 'GET /api/v2/files', status: 401, request: { headers: noToken } },
  {
    operation: 'POST /api/v2/files',
    status: 400,
    request: post('--x--', { 'content-type': 'multipart/form-data; boundary=x' }),
  },
  { operation: 'POST /api/v2/files', status: 401, request: post('', noToken) },
  { operation: 'POST /api/v2/files', status: 413, request: ofUnknownLength },
  { operation: 'POST /api/v2/files', status: 415, request: post('') },
  { operation: 'GET /api/v2/files/{address}', status: 401, request: { headers: noToken } },
  { operation: 'GET /api/v2/files/{address}', status: 404, path: file },
  { operation: 'GET /api/v2/files/{address}', status: 405, path: 'nothing' },
  {
    operation: 'GET /api/v2/files/{address}',
    status: 416,
    path: 'my-app/s.css',
    request: { headers: { range: 'bytes=100-' } },
  },
  { operation: 'PUT /api/v2/files/{address}', status: 401, request: { method: 'PUT', headers: noToken } },
  { operation: 'PUT /api/v2/files/{address}', status: 405, request: { method: 'PUT', body: 'rubbish' } },
  { operation: 'PUT /api/v2/files/{address}', status: 413, request: { method: 'PUT', body: 'x'.repeat(10_000) } },
  { operation: 'DELETE /api/v2/files/{address}', status: 401, request: { method: 'DELETE', headers: noToken } },
  { operation: 'DELETE /api/v2/files/{address}', status: 405, path: file, request: { method: 'DELETE' } },
  ...['POST /api/v2/files/prefetch', 'POST /api/v2/files/remove'].flatMap((operation): Refused[] => [
    { operation, status: 400, request: post({}) },
    { operation, status: 401, request: post({}, noToken) },
    { operation, status: 413, request: post(tooLong) },
    { operation, status: 415, request: post({}, { 'content-type': 'text/plain' }) },
  ]),
  { operation: 'POST /api/v2/files/remove', status: 404, request: post({ cid: file }) },
  { operation: 'GET /api/v2/blob/{app}/{path}', status: 400, path: 'NO/x' },
  { operation: 'GET /api/v2/blob/{app}/{path}', status: 401, request: { headers: noToken } },
  {
    operation: 'GET /api/v2/blob/{app}/{path}',
    status: 406,
    path: '-/text',
    request: { headers: { accept: 'image/png' } },
  },
  { operation: 'PUT /api/v2/blob/{app}/{path}', status: 400, path: 'com.example.b/x', request: { method: 'PUT' } },
  { operation: 'PUT /api/v2/blob/{app}/{path}', status: 401, request: { method: 'PUT', headers: noToken } },
  {
    operation: 'PUT /api/v2/blob/{app}/{path}',
    status: 413,
    request: { method: 'PUT', body: tooLong.slice(0, 11_000_000) },
  },
  {
    operation: 'DELETE /api/v2/blob/{app}/{path}',
    status: 400,
    path: 'com.example.b/x',
    request: { method: 'DELETE' },
  },
  { operation: 'DELETE /api/v2/blob/{app}/{path}', status: 401, request: { method: 'DELETE', headers: noToken } },
  { operation: 'POST /api/v2/blob/{app}/{path}', status: 401, request: post('', noToken) },
]

/** Need a licensed node or a WebSocket; other tests show them. */
const elsewhere = ['POST /api/v2/auth 401', 'GET /api/v2/events 401']

test('every error response is documented, and every documented one is reachable', async (t) => {
  const node = await startNode(t)
  const described = await Described.by(node)
  const cid = await (await node.upload({ 'index.html': '<html>hi</html>\n', 's.css': 'body{}' })).text()
  await node.call('/api/v2/files/my-app', { method: 'PUT', body: cid })
  await node.call('/api/v2/blob/-/text', { method: 'PUT', body: 'x', headers: { 'content-type': 'text/plain' } })
  for (const { operation, status, path, request = {} } of refusals) {
    const example = exampleUrl(operation, described.operation(operation))
    const url = path === undefined ? example : `${example.split('/').slice(0, 4).join('/')}/${path}`
    const response = await node.call(url, request)
    assert.equal(response.status, status, `${operation}: ${await response.clone().text()}`)
    await described.check(operation, response)
  }
  const all = described.operations.flatMap(([name, { responses }]) =>
    Object.keys(responses)
      .filter((status) => status >= '400' && status !== '503')
      .map((status) => `${name} ${status}`),
  )
  const shown = refusals.map(({ operation, status }) => `${operation} ${status}`)
  assert.deepEqual(all.toSorted(), [...shown, ...elsewhere].toSorted())
})
