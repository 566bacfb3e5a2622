import type { Random } from '../crash/random.ts'
import { anyBody, anyForm, boundary } from './bodies.ts'
import { damagedText } from './json-texts.ts'

/** How the bytes of a request are sent. */
export type Sending =
  /** At once, or in pieces with pauses between them; a response is expected. */
  | 'whole'
  | 'pieces'
  /** Incompletely: the client disconnects. */
  | 'half'

export interface FuzzRequest {
  readonly method: string
  readonly path: string
  readonly bytes: Buffer
  readonly sending: Sending
  /** Whether the response may never end, so that only its start is read. */
  readonly endless: boolean
}

const uploads = '/api/v2/files'
const jsonPaths = [
  '/api/v2/events/publish',
  '/api/v2/events/query',
  '/api/v2/events/subscribe',
  '/api/v2/events/subscribe_monotonic',
  '/api/v2/aql/validate',
  '/api/v2/files/prefetch',
  '/api/v2/files/remove',
  '/api/v2/auth',
] as const
const otherPaths = [
  '/api/v2/events/offsets',
  '/api/v2/events',
  '/api/v2/node/id',
  '/api/v2/node/info',
  '/api/v2/blob/-/a/b',
  '/api/v2/blob/-/a',
  '/api/v2/blob/BAD/x',
  '/api/v2/blob/com.example.other/x%zz',
  uploads,
  '/api/v2/files/',
  '/api/v2/files/name',
  '/api/v2/files/bafybeif7ztnhq65lumvvtr4ekcwd2ifwgm3awq4zfr3srh462rwyinlb4y',
  '/api/v2/files/bafybeif7ztnhq65lumvvtr4ekcwd2ifwgm3awq4zfr3srh462rwyinlb4y/x/%2e%2e',
  '/api/v2/files/%ff',
  '/api/v2/openapi',
  '/api/v2/openapi.json',
  '/metrics',
  '/readyz',
  '/healthz',
  '/',
  '/api/v2/events/publish/',
  '/../../etc/passwd',
  '/%00',
] as const
const methods = ['GET', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'PATCH', 'TRACE'] as const
const oddHeaders = [
  'Accept: text/html',
  'Accept: ,',
  'Content-Type: text/plain',
  'Content-Type: application/json; charset=utf-16',
  'Content-Encoding: gzip',
  'Expect: 100-continue',
  'Expect: nonsense',
  'Origin: http://evil.example',
  'Host: evil.example',
  'Range: bytes=0-',
  'Upgrade: websocket',
  'Authorization: Basic x',
  'X-Long: '.padEnd(20_000, 'x'),
  'X-Too-Long: '.padEnd(70_000, 'x'),
  'Transfer-Encoding: chunked',
  'Content-Length: 5',
  'Content-Length: -1',
  'Content-Length: 99999999999999999999',
] as const

/** A valid request, or one with some defect. */
export function anyRequest(random: Random, token: string): FuzzRequest {
  const isJson = random.chance(0.75)
  const path = isJson ? random.pick(jsonPaths) : random.pick(otherPaths)
  const usual = isJson || path === uploads ? 'POST' : 'GET'
  const takesAll = /\/blob\/|\/files\/(?!prefetch|remove)/.test(path)
  const method = takesAll || random.chance(0.1) ? random.pick(methods) : usual
  const text = path === uploads ? anyForm(random) : Buffer.from(JSON.stringify(anyBody(path, random)))
  const body = random.chance(0.5) ? damagedText(text, random) : text
  const sending = random.chance(0.05) ? 'half' : random.chance(0.1) ? 'pieces' : 'whole'
  const odd = random.chance(0.15) ? [random.pick(oddHeaders)] : []
  const type = path === uploads ? [`Content-Type: multipart/form-data; boundary=${boundary}`] : []
  const query = random.chance(0.02) ? `?access_token=${random.pick(['', 'x', '%', '%ff', '&&'])}` : ''
  const authorization = random.chance(0.97) ? [`Authorization: Bearer ${token}`] : []
  // The first header counts, so the invalid ones come first.
  const headers = [
    ...odd,
    ...type,
    'Host: localhost',
    'Connection: close',
    ...authorization,
    `Content-Length: ${body.length}`,
  ]
  const head = Buffer.from(`${method} ${path}${query} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`)
  return { method, path, bytes: Buffer.concat([head, body]), sending, endless: path.includes('subscribe') }
}
