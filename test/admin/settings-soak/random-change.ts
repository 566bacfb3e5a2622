import { isDeepStrictEqual } from 'node:util'
import type { Random } from '../../../scripts/crash/random.ts'
import type { Json, JsonObject } from '../../../src/settings/index.ts'
import type { SettingValues } from './setting-values.ts'

/** A request that changes settings, and what has to come of it. */
export interface RandomChange {
  readonly method: 'PUT' | 'PATCH' | 'DELETE' | 'POST'
  /** Below `/settings`, with the query. */
  readonly path: string
  readonly body?: Json
  readonly ifMatch?: number
  /** The stored document after it; undefined when the change is refused. */
  readonly stored?: Json
  readonly refused?: { readonly status: number; readonly code: string }
}

/** What there is to change. */
export interface State {
  readonly values: Readonly<Record<string, SettingValues>>
  readonly revision: number
  /** The stored document. */
  readonly stored: JsonObject
  /** The revisions to go back to. */
  readonly revisions: ReadonlyMap<number, Json>
}

const isInvalid = { status: 422, code: 'ERR_SETTINGS_INVALID' }
const removesUsers = { status: 400, code: 'ERR_INVALID_INPUT' }

/** Most changes set something; few are refused, go back, or remove a value. Many are of what restarts parts of a node. */
export function randomChange(random: Random, state: State): RandomChange {
  const restarting = random.chance(0.2) ? ['/swarm/topic', '/swarm/swarmKey'] : undefined
  const [path, values] = random.pick(
    Object.entries(state.values).filter(([path]) => restarting?.includes(path) ?? true) as [[string, SettingValues]],
  )
  const kind = random.below(20)
  if (kind < 11) return setting(random, state, path, values.valid(random))
  if (kind < 14) return refused(setting(random, state, path, random.pick(values.invalid as [Json])), isInvalid)
  if (kind < 16) return removal(random, state, path)
  if (kind < 18) return rollback(random, state)
  if (kind < 19) return oddity(random)
  const change = setting(random, state, path, values.valid(random))
  return refused({ ...change, ifMatch: state.revision - 1 }, { status: 409, code: 'ERR_SETTINGS_CONFLICT' })
}

/** Sets a path to another value than the one in force. */
export function changeOf(random: Random, state: State, path: string, inForce: Json): RandomChange {
  const { valid } = state.values[path] as SettingValues
  for (;;) {
    const value = valid(random)
    if (!isDeepStrictEqual(value, inForce)) return setting(random, state, path, value)
  }
}

/** Replaces the value, one of the objects around it, or merges it in. */
function setting(random: Random, { stored }: State, path: string, value: Json): RandomChange {
  const names = path.slice(1).split('/')
  const depth = random.below(names.length)
  const scope = `/settings?scope=/${names.slice(0, depth).join('/')}`
  const part = objectAt(stored, names.slice(0, depth))
  const put = { method: 'PUT', path: `/settings?scope=${path}`, body: value } as const
  const whole = { method: 'PUT', path: scope, body: withMember(part, names.slice(depth), value) } as const
  const merge = { method: 'PATCH', path: scope, body: withMember({}, names.slice(depth), value) } as const
  const replaced = withMember(stored, names, value)
  // A null in a merge patch removes.
  return random.pick([
    { ...put, stored: replaced },
    { ...whole, stored: replaced },
    value === null ? { ...put, stored: replaced } : { ...merge, stored: merged(stored, withMember({}, names, value)) },
  ])
}

/** The default swarm key is known to strangers: it never comes into force. */
function removal(random: Random, { stored }: State, path: string): RandomChange {
  const names = path.slice(1).split('/')
  if (path === '/swarm/swarmKey') return oddity(random)
  const unset = { method: 'DELETE', path: `/settings?scope=${path}`, stored: withoutMember(stored, names) } as const
  if (path === '/admin/authorizedUsers') return refused(unset, removesUsers)
  if (random.chance(0.5)) return unset
  const body = withMember({}, names.slice(1), null)
  return {
    method: 'PATCH',
    path: `/settings?scope=/${names[0]}`,
    body,
    stored: merged(stored, { [String(names[0])]: body }),
  }
}

function rollback(random: Random, { revisions, revision }: State): RandomChange {
  const [to, stored] = random.pick([...revisions] as [[number, Json]])
  const back = { method: 'POST', path: '/settings/rollback', body: { revision: to }, stored } as const
  if (random.chance(0.8)) return back
  return random.chance(0.5)
    ? refused({ ...back, body: { revision: revision + 1 } }, { status: 404, code: 'ERR_SETTINGS_REVISION_UNKNOWN' })
    : refused({ ...back, body: { revision: 0 } }, removesUsers)
}

/** What is wrong at any time. */
function oddity(random: Random): RandomChange {
  const put = (scope: string, body: Json) => ({ method: 'PUT', path: `/settings?scope=${scope}`, body }) as const
  return random.pick([
    refused(put('/swarm/unknown', 1), isInvalid),
    refused(put('/', { unknown: {} }), isInvalid),
    refused(put('/swarm/topic/x', 1), isInvalid),
    refused(put('/swarm/initialPeers/9', 'x'), isInvalid),
    refused(put('swarm', {}), { status: 400, code: 'ERR_INVALID_INPUT' }),
    refused(put('/admin', { displayName: 'nobody may manage it' }), removesUsers),
    refused({ method: 'DELETE', path: '/settings?scope=/' }, removesUsers),
    refused({ method: 'PATCH', path: '/settings?scope=/admin', body: { authorizedUsers: [] } }, removesUsers),
  ])
}

function refused({ stored: _, ...change }: RandomChange, code: RandomChange['refused'] & object): RandomChange {
  return { ...change, refused: code }
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function objectAt(document: JsonObject, names: readonly string[]): JsonObject {
  const found = names.reduce<Json | undefined>((value, name) => (isObject(value) ? value[name] : undefined), document)
  return isObject(found) ? found : {}
}

function withMember(document: JsonObject, [name = '', ...rest]: readonly string[], value: Json): JsonObject {
  return { ...document, [name]: rest.length === 0 ? value : withMember(objectAt(document, [name]), rest, value) }
}

function withoutMember(document: JsonObject, [name = '', ...rest]: readonly string[]): JsonObject {
  const { [name]: member, ...others } = document
  if (rest.length === 0) return others
  return isObject(member) ? { ...document, [name]: withoutMember(member, rest) } : document
}

/** RFC 7396. */
function merged(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch
  const result: JsonObject = isObject(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name]
    else result[name] = merged(result[name], value)
  }
  return result
}
