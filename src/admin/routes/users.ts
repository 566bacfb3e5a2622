import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import { failure, ShoalError } from '../../base/errors.ts'
import { adminPath, invalid, isForced, jsonBody, requiredMember } from './requests.ts'
import type { SettingsParts } from './settings.ts'

const scope = ['admin', 'authorizedUsers']

/** The users who may use the admin port: `/admin/authorizedUsers` of the settings. */
export function userRoutes({ settings, origin }: SettingsParts): Route[] {
  const users = (): readonly string[] => settings.document.admin.authorizedUsers
  const list = (): HttpResponse => jsonResponse(200, users())
  /** Changes the list with optimistic concurrency: a conflicting change of the settings makes it start again. */
  const changed = async (call: Call, next: () => readonly string[]): Promise<HttpResponse> => {
    try {
      const ifRevision = settings.revision
      const options = { origin: origin(call), ifRevision, keepsUser: !isForced(call) }
      await settings.change({ do: 'set', scope, value: [...next()] }, options)
      return list()
    } catch (error) {
      if (error instanceof ShoalError && error.code === 'ERR_SETTINGS_CONFLICT') return await changed(call, next)
      throw error
    }
  }
  const add = async (call: Call): Promise<HttpResponse> => {
    const key = requiredMember(await jsonBody(call), 'publicKey', 'the public key of a user')
    if (typeof key !== 'string') throw invalid('publicKey: not a string.')
    return await changed(call, () => [...users(), key])
  }
  const remove = (call: Call): Promise<HttpResponse> => {
    const key = keyIn(call.path)
    return changed(call, () => {
      const rest = users().filter((user) => user !== key)
      if (rest.length === users().length) throw failure('ERR_NOT_FOUND', {})
      return rest
    })
  }
  const path = `${adminPath}/users`
  return [
    {
      path,
      methods: {
        GET: { authenticated: true, handle: list },
        POST: { authenticated: true, consumes: 'json', handle: add },
      },
    },
    { path: `${path}/*`, methods: { DELETE: { authenticated: true, handle: remove } } },
  ]
}

function keyIn(path: string): string {
  const part = path.slice(`${adminPath}/users/`.length)
  try {
    return decodeURIComponent(part)
  } catch {
    throw invalid(`'${part}' is not a public key.`)
  }
}
