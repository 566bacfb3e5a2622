import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import { limits } from '../../base/limits.ts'
import {
  type Change,
  formatScope,
  type Json,
  newestRevisions,
  parseScope,
  type Scope,
  type Settings,
  schema,
  whenApplied,
} from '../../settings/index.ts'
import {
  adminPath,
  countOf,
  expectedRevision,
  flagOf,
  invalid,
  isForced,
  jsonBody,
  parametersOf,
  requiredMember,
} from './requests.ts'

export interface SettingsParts {
  readonly settings: Settings
  /** Who makes a change, for the history of the settings. */
  readonly origin: (call: Call) => string
}

/** Reads and changes the settings of the running node. */
export function settingsRoutes({ settings, origin }: SettingsParts): Route[] {
  const get = (call: Call): HttpResponse => {
    const defaults = flagOf(parametersOf(call), 'defaults', true)
    const response = jsonResponse(200, settings.get(scopeOf(call), { defaults }))
    return { ...response, headers: { ...response.headers, etag: `"${settings.revision}"` } }
  }
  const changed = async (call: Call, scope: Scope, change: Change): Promise<HttpResponse> => {
    const dryRun = flagOf(parametersOf(call), 'dryRun', false)
    const { value, revision, paths, changes } = await settings.change(change, {
      origin: origin(call),
      dryRun,
      keepsUser: !isForced(call),
      ifRevision: expectedRevision(call),
    })
    const applied = whenApplied(paths)
    const answer = { scope: formatScope(scope), settings: value ?? null, revision, applied }
    return jsonResponse(200, dryRun ? { ...answer, changes } : answer)
  }
  const put = async (call: Call): Promise<HttpResponse> => {
    const scope = scopeOf(call)
    return await changed(call, scope, { do: 'set', scope, value: (await jsonBody(call)) as Json })
  }
  const patch = async (call: Call): Promise<HttpResponse> => {
    const scope = scopeOf(call)
    return await changed(call, scope, { do: 'merge', scope, value: (await jsonBody(call)) as Json })
  }
  const unset = (call: Call): Promise<HttpResponse> => {
    const scope = scopeOf(call)
    return changed(call, scope, { do: 'unset', scope })
  }
  const rollback = async (call: Call): Promise<HttpResponse> => {
    const revision = requiredMember(await jsonBody(call), 'revision', 'the number of a revision, or 0 for the defaults')
    if (typeof revision !== 'number' || !Number.isSafeInteger(revision) || revision < 0)
      throw invalid(`revision: ${JSON.stringify(revision)} is not allowed. Allowed: a number, or 0 for the defaults.`)
    return await changed(call, [], { do: 'rollback', revision })
  }
  const history = (call: Call): HttpResponse => {
    const { revisionsShown } = limits
    const count = countOf(parametersOf(call), 'limit', revisionsShown, revisionsShown)
    return jsonResponse(200, newestRevisions(settings, count))
  }
  const path = `${adminPath}/settings`
  return [
    {
      path,
      methods: {
        GET: { authenticated: true, handle: get },
        PUT: { authenticated: true, consumes: 'json', handle: put },
        PATCH: { authenticated: true, consumes: 'merge-patch', handle: patch },
        DELETE: { authenticated: true, handle: unset },
      },
    },
    { path: `${path}/schema`, methods: { GET: { authenticated: true, handle: () => jsonResponse(200, schema) } } },
    { path: `${path}/history`, methods: { GET: { authenticated: true, handle: history } } },
    { path: `${path}/rollback`, methods: { POST: { authenticated: true, consumes: 'json', handle: rollback } } },
  ]
}

function scopeOf(call: Call): Scope {
  return parseScope(parametersOf(call).get('scope') ?? '/')
}
