import { failure, messageOf } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import {
  admitApp,
  appIdProblem,
  type Licensing,
  type Manifest,
  type PublicKey,
  type Tokens,
  tokenValiditySeconds,
} from '../../identity/index.ts'
import type { Logger } from '../../logging/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Timers } from '../../runtime/timers.ts'
import type { Call } from '../call.ts'
import { memberText, optionalText } from '../members.ts'
import { type HttpResponse, jsonResponse } from '../response.ts'
import type { Route } from '../router.ts'
import { TokenLog } from '../token-log.ts'

export interface AuthParts {
  readonly tokens: Tokens
  /** The current licences in the settings. */
  readonly licensing: () => Licensing
  /** The key that signs certificates and licences. */
  readonly rootKey: PublicKey | undefined
  readonly clock: Clock
  readonly timers: Timers
  readonly log: Logger
}

/** Authentication: an app sends its manifest and gets a token. */
export function authRoutes(parts: AuthParts): Route[] {
  const tokenLog = new TokenLog(parts.log, parts.timers)
  const handle = async (call: Call): Promise<HttpResponse> => {
    const manifest = manifestOf(await call.json(limits.manifestBytes))
    const remote = call.request.socket.remoteAddress
    try {
      const { warning, ...app } = admitApp(manifest, parts.licensing(), parts.rootKey, parts.clock.now())
      if (warning !== undefined) parts.log.warn(warning)
      const token = parts.tokens.issue(app)
      tokenLog.issued(manifest, app.mode, parts.clock.now() + tokenValiditySeconds * 1e6, remote)
      return jsonResponse(200, { token })
    } catch (error) {
      tokenLog.refused(manifest, messageOf(error), remote)
      throw error
    }
  }
  return [
    {
      path: '/api/v2/auth',
      methods: { POST: { authenticated: false, produces: 'application/json', consumes: 'json', handle } },
    },
  ]
}

function manifestOf(value: unknown): Manifest {
  const appId = memberText(value, 'appId')
  const problem = appIdProblem(appId)
  if (problem !== undefined) throw failure('ERR_BAD_REQUEST', { cause: `${problem} at \`appId\`` })
  const signature = optionalText(value, 'signature')
  return {
    appId,
    displayName: memberText(value, 'displayName'),
    version: memberText(value, 'version'),
    ...(signature !== undefined && { signature }),
  }
}
