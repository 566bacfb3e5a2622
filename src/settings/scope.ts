import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { clone, equal, isObject, type Json, type JsonObject, ownValue, setOwn } from './json.ts'
import { InvalidSettings } from './problem.ts'

/** A path in the settings document, as a list of names; the whole document is the empty list. */
export type Scope = readonly string[]

export function parseScope(text: string): Scope {
  if (text.length > limits.scopeLength)
    throw new ShoalError('ERR_INVALID_INPUT', `A scope has at most ${limits.scopeLength} characters.`)
  if (!text.startsWith('/'))
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      `Scope [${text}] cannot be parsed. It starts with '/', like /swarm/topic.`,
    )
  if (text === '/') return []
  const parts = text.slice(1).split('/')
  if (parts.includes('')) throw new ShoalError('ERR_INVALID_INPUT', `Scope [${text}] contains empty parts.`)
  return parts
}

export function formatScope(scope: Scope): string {
  return `/${scope.join('/')}`
}

export function valueAt(document: Json, scope: Scope): Json | undefined {
  let value: Json | undefined = document
  for (const part of scope) {
    if (Array.isArray(value)) value = value[indexOf(part) ?? -1]
    else value = isObject(value) ? ownValue(value, part) : undefined
  }
  return value
}

/**
 * Returns a copy of the document with a value set. Missing objects along the path are created. A missing list is copied
 * from the defaults, so that an index refers to the list that `get` shows.
 */
export function withValueAt(document: JsonObject, defaults: Json, scope: Scope, value: Json): Json {
  if (scope.length === 0) return clone(value)
  const result = clone(document)
  const [last = ''] = scope.slice(-1)
  let parent: Json = result
  for (const [depth, part] of scope.slice(0, -1).entries()) {
    const at = scope.slice(0, depth + 1)
    const stored: Json | undefined = member(parent, part, at)
    parent = stored === undefined ? create(parent, part, at, valueAt(defaults, at)) : stored
  }
  put(parent, last, scope, clone(value))
  return result
}

/** Returns a copy of the document without a value; unchanged when there is none. */
export function withoutValueAt(document: JsonObject, scope: Scope): JsonObject {
  if (scope.length === 0) return {}
  const result = clone(document)
  const parent = valueAt(result, scope.slice(0, -1))
  const [last = ''] = scope.slice(-1)
  if (Array.isArray(parent)) {
    const index = indexOf(last)
    if (index !== undefined && index < parent.length) parent.splice(index, 1)
  } else if (isObject(parent)) {
    delete parent[last]
  }
  return result
}

/** JSON merge patch (RFC 7396): objects are merged, null removes, everything else replaces. */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return clone(patch)
  const result: JsonObject = isObject(target) ? clone(target) : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else setOwn(result, key, mergePatch(ownValue(result, key), value))
  }
  return result
}

/** The diff of two documents, as paths: objects by member, lists and scalars as a whole. */
export function changedPaths(before: Json | undefined, after: Json | undefined): string[] {
  return changedScopes(before, after).map(formatScope)
}

/** The same as scopes: names may have any characters. */
export function changedScopes(before: Json | undefined, after: Json | undefined, scope: Scope = []): Scope[] {
  if (isObject(before) && isObject(after)) {
    const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return keys.flatMap((key) => changedScopes(ownValue(before, key), ownValue(after, key), [...scope, key]))
  }
  return equal(before, after) ? [] : [scope]
}

function member(parent: Json, part: string, at: Scope): Json | undefined {
  if (Array.isArray(parent)) return parent[checkedIndex(parent, part, at)]
  if (isObject(parent)) return ownValue(parent, part)
  throw noContainer(parent, at)
}

function create(parent: Json, part: string, at: Scope, shown: Json | undefined): Json {
  const created: Json = Array.isArray(shown) ? clone(shown) : {}
  put(parent, part, at, created)
  return created
}

function put(parent: Json, part: string, at: Scope, value: Json): void {
  if (Array.isArray(parent)) parent[checkedIndex(parent, part, at)] = value
  else if (isObject(parent)) setOwn(parent, part, value)
  else throw noContainer(parent, at)
}

function indexOf(part: string): number | undefined {
  return /^(0|[1-9][0-9]{0,8})$/.test(part) ? Number(part) : undefined
}

/** The index of an item; the length of the list appends. */
function checkedIndex(list: readonly Json[], part: string, at: Scope): number {
  const index = indexOf(part)
  if (index !== undefined && index <= list.length) return index
  const detail = `The list has ${list.length} items; ${list.length} appends one`
  throw new InvalidSettings([
    { path: formatScope(at), title: `Index ${part} invalid at path ${formatScope(at.slice(0, -1))}`, detail },
  ])
}

function noContainer(value: Json, at: Scope): InvalidSettings {
  const path = formatScope(at.slice(0, -1))
  // The value is not in the message: it may be a secret key.
  const title = `The value at path ${path} is not of type object or array but ${value === null ? 'null' : typeof value}`
  return new InvalidSettings([{ path, title }])
}
