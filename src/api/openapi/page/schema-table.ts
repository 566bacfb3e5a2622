import { escaped } from '../../html.ts'
import type { Fragment } from '../shared-parts.ts'

export function schemaAnchor(name: string): string {
  return `schema-${escaped(name)}`
}

/** A schema in the notation of TypeScript, as HTML with links to named schemas. */
export function definition(schema: Fragment, indent = ''): string {
  const alternatives = alternativesOf(schema)
  if (alternatives !== undefined) return alternatives.join(' | ')
  const { properties, additionalProperties, items, type } = schema
  if (isFragment(properties)) return members(schema, properties, `${indent}  `, indent)
  if (isFragment(additionalProperties)) return `{ [name]: ${definition(additionalProperties, indent)} }`
  if (isFragment(items)) return `${definition(items, indent)}[]`
  return [type ?? 'any'].flat().map(String).map(escaped).join(' | ')
}

function alternativesOf({ $ref, anyOf, enum: values }: Fragment): readonly string[] | undefined {
  if (typeof $ref === 'string') {
    const name = $ref.split('/').at(-1) ?? ''
    return [`<a href="#${schemaAnchor(name)}">${escaped(name)}</a>`]
  }
  if (Array.isArray(anyOf)) return anyOf.filter(isFragment).map((schema) => definition(schema))
  return Array.isArray(values) ? values.map((value) => escaped(JSON.stringify(value))) : undefined
}

function members({ required }: Fragment, properties: Fragment, indent: string, outside: string): string {
  const lines = Object.entries(properties).map(([name, schema]) => {
    if (!isFragment(schema)) return ''
    const isOptional = !(Array.isArray(required) && required.includes(name))
    const { description } = schema
    const comment = typeof description === 'string' ? ` <i>// ${escaped(description)}</i>` : ''
    return `${indent}${escaped(name)}${isOptional ? '?' : ''}: ${definition(schema, indent)}${comment}\n`
  })
  return `{\n${lines.join('')}${outside}}`
}

function isFragment(value: unknown): value is Fragment {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
