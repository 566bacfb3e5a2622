import { readFileSync } from 'node:fs'

/** A case of the language: a text and what comes out of it, as the specification has it. */
export interface Case {
  readonly name: string
  readonly kind: string
  readonly query: string
  /** The rule of the specification by which shoal differs on purpose from what the case says. */
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
