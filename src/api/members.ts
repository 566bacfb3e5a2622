import { invalidRequest } from '../base/errors.ts'

/** A required string member of a JSON request. */
export function memberText(value: unknown, name: string): string {
  const text = optionalText(value, name)
  if (text === undefined) throw invalidRequest(`missing field \`${name}\``)
  return text
}

/** An optional string member; null counts as missing. */
export function optionalText(value: unknown, name: string): string | undefined {
  const member = memberOf(value, name)
  if (member === undefined || member === null) return undefined
  if (typeof member !== 'string')
    throw invalidRequest(`invalid type: ${typeName(member)}, expected a string at \`${name}\``)
  // UTF-8 encoding would replace a lone surrogate with U+FFFD.
  if (!member.isWellFormed()) throw invalidRequest(`lone surrogate in hex escape at \`${name}\``)
  return member
}

/** A member of a JSON request, which has to be an object. */
export function memberOf(value: unknown, name: string): unknown {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalidRequest(`invalid type: ${typeName(value)}, expected an object`)
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

function typeName(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'sequence'
  return typeof value === 'object' ? 'map' : typeof value
}
