import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import { limits } from '../../base/limits.ts'
import type { Access, SignInConnection } from '../access/access.ts'
import { adminPath, invalid, jsonBody, requiredMember } from './requests.ts'

/**
 * Signing in to the admin port, and out.
 * @param spare exempts the response to a request from being aborted with its session
 */
export function sessionRoutes(access: Access, spare: (call: Call) => void): Route[] {
  const challenge = async (call: Call): Promise<HttpResponse> => {
    const publicKey = textOf(await jsonBody(call, limits.signInBytes), 'publicKey')
    return jsonResponse(200, await access.challenge(publicKey, connectionOf(call)))
  }
  const signIn = async (call: Call): Promise<HttpResponse> => {
    const body = await jsonBody(call, limits.signInBytes)
    const code = (body as { code?: unknown }).code ?? undefined
    if (code !== undefined && typeof code !== 'string') throw invalid('code: not a string.')
    const [publicKey, challenge] = [textOf(body, 'publicKey'), textOf(body, 'challenge')]
    const signed = { publicKey, challenge, signature: textOf(body, 'signature'), code }
    return jsonResponse(200, await access.signIn(signed, connectionOf(call)))
  }
  const signOut = (call: Call): HttpResponse => {
    spare(call)
    access.end(tokenOf(call) ?? '')
    return jsonResponse(200, {})
  }
  const path = `${adminPath}/session`
  return [
    { path: `${path}/challenge`, methods: { POST: { authenticated: false, consumes: 'json', handle: challenge } } },
    {
      path,
      methods: {
        POST: { authenticated: false, consumes: 'json', handle: signIn },
        DELETE: { authenticated: true, handle: signOut },
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

const proxyHeaders = ['cf-connecting-ip', 'forwarded', 'via', 'x-real-ip']

function connectionOf({ request: { socket, headers } }: Call): SignInConnection {
  const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket
  const isForwarded = Object.keys(headers).some(
    (name) => proxyHeaders.includes(name) || name.startsWith('x-forwarded-'),
  )
  const transport = 'encrypted' in socket ? 'tls' : 'loopback'
  return { socket, transport, localAddress, localPort, remoteAddress, remotePort, isForwarded }
}
