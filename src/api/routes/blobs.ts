import { failure, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { type App, appIdProblem } from '../../identity/index.ts'
import type { Call } from '../call.ts'
import { emptyResponse, type HttpResponse, jsonResponse } from '../response.ts'
import type { Route } from '../router.ts'

interface Blob {
  readonly type: string
  readonly bytes: Buffer
}

/** A local key-value store of the apps: blobs by path, not replicated. */
export interface Blobs {
  /** The size of a blob in bytes; nothing when it does not exist. */
  size(app: string, path: string): Promise<number | undefined>
  get(app: string, path: string): Promise<Blob | undefined>
  /** The entries directly below a path. */
  list(app: string, path: string): Promise<ReadonlyMap<string, unknown> | undefined>
  put(app: string, path: string, blob: Blob): Promise<void>
  delete(app: string, path: string): Promise<void>
}

const prefix = '/api/v2/blob/'

/** Blobs: an app can read the blobs of every app, and write its own. */
export function blobRoutes(blobs: () => Promise<Blobs>): Route[] {
  const get = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const { app, path } = blobAddress(call)
    const owner = app === '-' ? appId : app
    const opened = await blobs()
    call.hold((await opened.size(owner, path)) ?? 0)
    const blob = await opened.get(owner, path)
    if (blob !== undefined) return blobResponse(call, blob)
    const entries = await opened.list(owner, path)
    return entries === undefined ? emptyResponse(204) : jsonResponse(200, Object.fromEntries(entries))
  }
  const put = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const path = ownPath(call, 'put')
    const { headers } = call.request
    if (headers['content-length'] === undefined)
      throw new ShoalError('ERR_PAYLOAD_TOO_LARGE', `Payload length unknown. Limit is ${limits.blobBytes}`)
    const bytes = await call.body(limits.blobBytes)
    const type = headers['content-type'] ?? 'application/octet-stream'
    await (await blobs()).put(appId, path, { type, bytes })
    return emptyResponse(204)
  }
  const remove = async (call: Call, { appId }: App): Promise<HttpResponse> => {
    const path = ownPath(call, 'delete')
    await (await blobs()).delete(appId, path)
    return emptyResponse(204)
  }
  const methods = {
    GET: { authenticated: true, handle: get },
    PUT: { authenticated: true, handle: put },
    DELETE: { authenticated: true, handle: remove },
    // Clients send a storage quota request. There are no quotas, so it is accepted and ignored.
    POST: { authenticated: true, handle: () => emptyResponse(204) },
  } as const
  return [{ path: `${prefix}*`, methods }]
}

/** The app and the path in a blob URL; the path is taken verbatim. */
function blobAddress({ path }: Call): { app: string; path: string } {
  const rest = path.slice(prefix.length)
  const slash = rest.indexOf('/')
  const app = slash < 0 ? rest : rest.slice(0, slash)
  if (app !== '-' && appIdProblem(app) !== undefined)
    throw failure('ERR_BAD_REQUEST', { cause: `Invalid AppId: '${app}'` })
  return { app, path: slash < 0 ? '' : rest.slice(slash + 1) }
}

/** The path of a write request. Apps can only write their own blobs, with `-` as app. */
function ownPath(call: Call, action: string): string {
  const { app, path } = blobAddress(call)
  if (app !== '-') throw failure('ERR_BAD_REQUEST', { cause: `cannot ${action} blob for specific appId ${app}` })
  return path
}

function blobResponse({ request }: Call, { type, bytes }: Blob): HttpResponse {
  const accept = request.headers.accept ?? '*/*'
  const [essence = ''] = type.split(';')
  const [major = ''] = essence.split('/')
  const accepted = [essence.trim(), `${major}/*`, '*/*']
  if (!accepted.some((range) => accept.includes(range))) throw failure('ERR_NOT_ACCEPTABLE', { accept, type })
  return { status: 200, headers: { 'content-type': type, 'cache-control': 'no-store' }, body: bytes }
}
