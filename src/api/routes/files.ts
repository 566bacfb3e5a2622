import { failure, invalidRequest, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { type Duration, type Files, isName, parseCid } from '../../files/index.ts'
import type { App } from '../../identity/index.ts'
import type { Call } from '../call.ts'
import { acceptsHtml, contentResponse, decodedPath } from '../content/content-response.ts'
import { boundaryOf, formParts } from '../form-parser.ts'
import { memberOf, memberText } from '../members.ts'
import { queryText } from '../read-requests.ts'
import { emptyResponse, type HttpResponse, jsonResponse, textResponse } from '../response.ts'
import type { Route } from '../router.ts'

/**
 * Files, directories and names, at and below the path `prefix`. Requests wait until the files are open, and fail while
 * the topic is changed.
 */
export function fileRoutes(files: () => Promise<Files>, prefix = '/api/v2/files'): Route[] {
  const below = ({ path }: Call): string => path.slice(prefix.length + 1)
  const list = async (call: Call): Promise<HttpResponse> => {
    const opened = await files()
    const uploads = isSet(call, 'uploads') ? { uploads: await opened.unnamedUploads() } : {}
    return jsonResponse(200, { names: await opened.names(), ...uploads })
  }
  const upload = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const boundary = checkedBoundary(call)
    call.hold(limits.uploadHeldBytes)
    const cid = await (await files()).upload(
      appId,
      async (target) => {
        for await (const { fileName, content } of formParts(call.bodyStream(), boundary)) {
          if (fileName === undefined) throw invalidRequest('A part of the multipart body has no file name.')
          await target.add(fileName, content)
        }
      },
      isSet(call, 'directory'),
    )
    return textResponse(cid)
  }
  const get = async (call: Call): Promise<HttpResponse> => {
    const [first = '', ...segments] = below(call).split('/')
    const rest = decodedPath(segments.join('/'))
    const [root = '', ...path] = [...(decodedPath(first) ?? []), ...(rest ?? [])]
    const opened = await files()
    const { by, content } = await opened.find(root, path)
    if (by === undefined) throw failure('ERR_METHOD_NOT_ALLOWED', {})
    // A path with a malformed percent-encoding matches no file.
    if (rest === undefined) throw failure('ERR_NOT_FOUND', {})
    return await contentResponse(call, opened, { by, content, path }, acceptsHtml(call))
  }
  const put = async (call: Call): Promise<HttpResponse> => {
    const name = nameIn(below(call))
    const cid = (await call.body(limits.fileNameBytes)).toString('utf8').trim()
    if (parseCid(cid) === undefined) throw failure('ERR_METHOD_NOT_ALLOWED', {})
    return textResponse((await (await files()).bind(name, cid)) ?? '')
  }
  const unbind = async (call: Call): Promise<HttpResponse> =>
    textResponse((await (await files()).unbind(nameIn(below(call)))) ?? '')
  const read = { authenticated: true, handle: get } as const
  return [
    {
      path: prefix,
      methods: { GET: { authenticated: true, handle: list }, POST: { authenticated: true, handle: upload } },
    },
    ...retentionRoutes(files, prefix),
    {
      path: `${prefix}/*`,
      methods: {
        GET: read,
        HEAD: read,
        PUT: { authenticated: true, handle: put },
        DELETE: { authenticated: true, handle: unbind },
      },
    },
  ]
}

/** Whether a query parameter has the value `true`. */
function isSet({ query }: Call, parameter: string): boolean {
  return new URLSearchParams(query ?? '').get(parameter) === 'true'
}

/** Retention: prefetch content, or remove an upload. */
function retentionRoutes(files: () => Promise<Files>, prefix: string): Route[] {
  const prefetch = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const value = await call.json(limits.bodyBytes)
    await (await files()).prefetch(appId, queryText(value), durationOf(value))
    return emptyResponse(204)
  }
  const remove = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const cid = memberText(await call.json(limits.bodyBytes), 'cid')
    if (parseCid(cid) === undefined)
      throw failure('ERR_BAD_REQUEST', { cause: `'${cid}' is not a content identifier at \`cid\`` })
    if (!(await (await files()).remove(appId, cid))) throw failure('ERR_NOT_FOUND', {})
    return emptyResponse(204)
  }
  return [
    { path: `${prefix}/prefetch`, methods: { POST: { authenticated: true, consumes: 'json', handle: prefetch } } },
    { path: `${prefix}/remove`, methods: { POST: { authenticated: true, consumes: 'json', handle: remove } } },
  ]
}

/** The boundary of a multipart request; throws for another content type, and for a missing or too large length. */
function checkedBoundary({ request }: Call): string {
  const boundary = boundaryOf(request.headers['content-type'])
  if (boundary === undefined) throw failure('ERR_UNSUPPORTED_MEDIA_TYPE', {})
  const length = request.headers['content-length']
  if (length === undefined)
    throw new ShoalError('ERR_PAYLOAD_TOO_LARGE', `Payload length unknown. Limit is ${limits.uploadBytes}`)
  if (Number(length) > limits.uploadBytes)
    throw failure('ERR_PAYLOAD_TOO_LARGE', { size: Number(length), limit: limits.uploadBytes })
  return boundary
}

/** The name in the rest of a path. A trailing slash is ignored. */
function nameIn(text: string): string {
  const rest = text.replace(/\/$/, '')
  const [name = '', ...more] = rest.includes('/') ? [] : (decodedPath(rest) ?? [])
  if (more.length > 0 || !isName(name)) throw failure('ERR_METHOD_NOT_ALLOWED', {})
  return name
}

function durationOf(value: unknown): Duration {
  const duration = memberOf(value, 'duration')
  if (duration === undefined) throw invalidRequest('missing field `duration`')
  return { secs: countOf(duration, 'secs'), nanos: countOf(duration, 'nanos') }
}

function countOf(value: unknown, name: string): number {
  const count = memberOf(value, name)
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count
  throw invalidRequest(`expected a non-negative integer at \`${name}\``)
}
