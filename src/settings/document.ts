import { clone, isObject, type Json, type JsonObject, ownValue, setOwn } from './json.ts'
import { schema } from './schema.ts'

/**
 * Fills in all defaults of the schema. A missing object is treated as an empty one, so that the defaults of its members
 * apply. (Ajv's `useDefaults` leaves such objects out.)
 */
export function complete(stored: JsonObject): JsonObject {
  return withDefaults(stored, schema) as JsonObject
}

function withDefaults(value: Json | undefined, rule: JsonObject): Json | undefined {
  const start = value === undefined ? defaultOf(rule) : value
  if (Array.isArray(start)) {
    const items = ownValue(rule, 'items')
    return isObject(items) ? start.map((item) => withDefaults(item, items) ?? item) : clone(start)
  }
  if (!isObject(start)) return start
  const result: JsonObject = {}
  for (const [key, member] of Object.entries(start)) {
    const memberRule = ruleOf(rule, key)
    setOwn(result, key, memberRule ? (withDefaults(member, memberRule) ?? member) : clone(member))
  }
  for (const [key, memberRule] of propertiesOf(rule)) {
    if (Object.hasOwn(result, key)) continue
    const filled = withDefaults(undefined, memberRule)
    if (filled !== undefined) setOwn(result, key, filled)
  }
  return result
}

function defaultOf(rule: JsonObject): Json | undefined {
  const value = ownValue(rule, 'default')
  if (value !== undefined) return value
  return ownValue(rule, 'type') === 'object' && ownValue(rule, 'properties') !== undefined ? {} : undefined
}

function propertiesOf(rule: JsonObject): [string, JsonObject][] {
  const properties = ownValue(rule, 'properties')
  return isObject(properties)
    ? Object.entries(properties).filter((entry): entry is [string, JsonObject] => isObject(entry[1]))
    : []
}

function ruleOf(rule: JsonObject, key: string): JsonObject | undefined {
  const property = propertiesOf(rule).find(([name]) => name === key)
  if (property) return property[1]
  const patterns = ownValue(rule, 'patternProperties')
  if (!isObject(patterns)) return undefined
  const found = Object.entries(patterns).find(([pattern]) => new RegExp(pattern, 'u').test(key))?.[1]
  return isObject(found) ? found : undefined
}
