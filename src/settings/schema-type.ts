import type { JsonObject } from './json.ts'

/** The keywords of JSON schema draft-06 that the settings schema uses. */
export interface Rule {
  readonly $schema?: string
  readonly title?: string
  readonly description?: string
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean'
  readonly default?: Default
  readonly enum?: readonly (string | number | null)[]
  readonly anyOf?: readonly Rule[]
  readonly oneOf?: readonly Rule[]
  readonly minimum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly uniqueItems?: boolean
  readonly items?: Rule
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Rule>>
  readonly patternProperties?: Readonly<Record<string, Rule>>
  readonly additionalProperties?: false
}

/** Lists and objects are empty by default. */
type Default = string | number | boolean | null | readonly [] | Readonly<Record<string, never>>

/**
 * The type of values that a rule allows, with all defaults filled in. A rule without a supported keyword has the type
 * `never`, so that using its value is a type error.
 */
export type ValueOf<R> = R extends { readonly enum: readonly (infer Value)[] }
  ? Value
  : R extends { readonly anyOf: readonly (infer Choice)[] }
    ? ValueOf<Choice>
    : R extends { readonly oneOf: readonly (infer Choice)[] }
      ? ValueOf<Choice>
      : R extends { readonly type: infer Type }
        ? TypedValueOf<R, Type>
        : never

type TypedValueOf<R, Type> = Type extends 'string'
  ? string
  : Type extends 'integer' | 'number'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'array'
        ? ItemsOf<R>
        : Type extends 'object'
          ? MembersOf<R>
          : never

type ItemsOf<R> = R extends { readonly items: infer Item } ? ValueOf<Item>[] : never

type MembersOf<R> = R extends { readonly properties: infer Members }
  ? Flat<
      { -readonly [K in keyof Members as IsPresent<R, Members, K> extends true ? K : never]: ValueOf<Members[K]> } & {
        -readonly [K in keyof Members as IsPresent<R, Members, K> extends true ? never : K]?: ValueOf<Members[K]>
      }
    >
  : R extends { readonly patternProperties: infer Patterns }
    ? Record<string, ValueOf<Patterns[keyof Patterns]>>
    : JsonObject

/** Flattens an intersection into one object type, for readable compiler messages. */
type Flat<T> = { [K in keyof T]: T[K] }

/** Whether a member is always present: required, with a default, or an object whose members may have defaults. */
type IsPresent<R, Members, K extends keyof Members> = R extends { readonly required: readonly (infer Name)[] }
  ? K extends Name
    ? true
    : HasDefault<Members[K]>
  : HasDefault<Members[K]>

type HasDefault<R> = R extends { readonly default: unknown } | { readonly properties: unknown } ? true : false
