import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import { limits } from '../../base/limits.ts'
import type { Access, SignInConnection } from '../access/access.ts'
import { adminPath, invalid, jsonBody, requiredMember } from './requests.ts'

/** Signing in to the admin port, and out. */
export function sessionRoutes(access: Access): Route[] {
  const challenge = async (call: Call): Promise<HttpResponse> =>
    jsonResponse(200, access.challenge(textOf(await jsonBody(call, limits.signInBytes), 'publicKey')))
  const signIn = async (call: Call): Promise<HttpResponse> => {
    const body = await jsonBody(call, limits.signInBytes)
    const [publicKey, challenge, signature] = ['publicKey', 'challenge', 'signature'].map((name) => textOf(body, name))
    const code = (body as { code?: unknown }).code ?? undefined
    if (code !== undefined && typeof code !== 'string') throw invalid('code: not a string.')
    const signed = { publicKey: publicKey ?? '', challenge: challenge ?? '', signature: signature ?? '', code }
    return jsonResponse(200, await access.signIn(signed, connectionOf(call)))
  }
  const signOut = (call: Call): HttpResponse => {
    access.end(tokenOf(call) ?? '')
    return jsonResponse(200, {})
  }
  const path = `${adminPath}/session`
  return [
    { path: `${path}/challenge`, methods: { POST: { token: false, consumes: 'json', handle: challenge } } },
    {
      path,
      methods: {
        POST: { token: false, consumes: 'json', handle: signIn },
        DELETE: { token: true, handle: signOut },
      },
    },
  ]
}

/** The token in the `Authorization` header of a request. */
export function tokenOf({ request }: Call): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1]
}

function textOf(body: unknown, name: string): string {
  const text = requiredMember(body, name, 'a text')
  if (typeof text !== 'string') throw invalid(`${name}: not a string.`)
  return text
}

const proxyHeaders = ['forwarded', 'via', 'x-forwarded-for', 'x-real-ip']

function connectionOf({ request: { socket, headers } }: Call): SignInConnection {
  const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket
  const isForwarded = proxyHeaders.some((name) => headers[name] !== undefined)
  return { localAddress, localPort, remoteAddress, remotePort, isForwarded }
}
