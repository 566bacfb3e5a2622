import type { Json, JsonObject } from './json.ts'
import { publicSwarmKey } from './schema.ts'
import { changedScopes, formatScope, type Scope, valueAt } from './scope.ts'

/** A value that differs between two documents, without secrets. A member is absent where there is no value. */
export interface ValueChange {
  readonly path: string
  readonly before?: Json | undefined
  readonly after?: Json | undefined
}

/** Takes the place of a swarm key or licence. */
const hidden = '(hidden)'

/** Values at places of secrets that everybody knows. */
const known: ReadonlySet<unknown> = new Set([publicSwarmKey, 'development', 'testing', undefined])

/** The differences of two documents, for people and logs: secrets are hidden, since old ones may still be in use. */
export function valueChanges(before: JsonObject, after: JsonObject): ValueChange[] {
  return changedScopes(before, after).map((scope) => ({
    path: formatScope(scope),
    before: shownAt(before, scope),
    after: shownAt(after, scope),
  }))
}

function shownAt(document: JsonObject, scope: Scope): Json | undefined {
  const value = valueAt(document, scope)
  return isSecret(scope) && !known.has(value) ? hidden : value
}

function isSecret([group, name]: Scope): boolean {
  return group === 'licensing' || (group === 'swarm' && name === 'swarmKey')
}
