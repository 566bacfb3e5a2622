import { readFileSync } from 'node:fs'

/** A test case of the specification: a text and the expected outcome. */
export interface Case {
  readonly name: string
  readonly kind: string
  readonly query: string
  /** The rule of the specification for an intended deviation from this case. */
  readonly deviation?: string
  // biome-ignore lint/suspicious/noExplicitAny: every kind has its own form, see §16 of the specification
  readonly expect: any
  readonly [field: string]: unknown
}

export const allCases = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[]

export function casesOf(...kinds: readonly string[]): readonly Case[] {
  return allCases.filter(({ kind }) => kinds.includes(kind))
}

export const kinds: ReadonlySet<string> = new Set(allCases.map(({ kind }) => kind))
