import type { ErrorCode } from '../../../src/base/errors.ts'
import type { Json, Scope } from '../../../src/settings/index.ts'
import {
  differences,
  mergedInto,
  type Tree,
  textOf,
  treeOf,
  valueAt,
  withDefaults,
  withoutValue,
  withValue,
} from './document.ts'
import { isValid } from './rules.ts'

export type Operation =
  | { kind: 'set' | 'merge'; scope: Scope; value: Json }
  | { kind: 'unset'; scope: Scope }
  | { kind: 'rollback'; revision: number }

/** The outcome of an operation: a result or an error code. */
export type Outcome = { answer: string } | { refused: ErrorCode }

/** The change event for listeners, with documents as text. */
export interface Announcement {
  revision: number
  scope: string
  before: string
  after: string
  paths: string[]
}

/**
 * A model of the settings, as simple as the specification allows. Model, rules and document share no code with
 * `src/settings`, so that a mistake has to be made twice to go undetected.
 */
export class Model {
  /** All revisions, starting with revision 1, and their texts. */
  readonly revisions: Tree[] = []
  readonly texts: string[] = []
  readonly announced: Announcement[] = []

  get revision(): number {
    return this.revisions.length
  }

  get stored(): Tree {
    return this.revisions.at(-1) ?? new Map()
  }

  get shown(): Tree {
    return withDefaults(this.stored)
  }

  perform(operation: Operation): Outcome {
    if (
      operation.kind === 'rollback' &&
      operation.revision !== 0 &&
      this.revisions[operation.revision - 1] === undefined
    )
      return { refused: 'ERR_SETTINGS_REVISION_UNKNOWN' }
    const document = this.#documentAfter(operation)
    if (document === undefined || !isValid(document)) return { refused: 'ERR_SETTINGS_INVALID' }
    this.#store(document, scopeOf(operation))
    const answers = operation.kind === 'set' || operation.kind === 'merge'
    return { answer: textOf(answers ? valueAt(this.shown, operation.scope) : undefined) }
  }

  #documentAfter(operation: Operation): Tree | undefined {
    const { stored, shown } = this
    switch (operation.kind) {
      case 'set':
        return withValue(stored, shown, operation.scope, treeOf(operation.value))
      case 'merge': {
        const value = mergedInto(valueAt(stored, operation.scope), treeOf(operation.value))
        return withValue(stored, shown, operation.scope, value)
      }
      case 'unset':
        return withoutValue(stored, operation.scope)
      case 'rollback':
        return operation.revision === 0 ? new Map() : this.revisions[operation.revision - 1]
    }
  }

  #store(document: Tree, scope: Scope): void {
    // A change without effect is not stored, except the first one: it always makes revision 1.
    const text = textOf(document)
    if (this.texts.at(-1) === text) return
    const before = this.shown
    this.revisions.push(document)
    this.texts.push(text)
    this.announced.push({
      revision: this.revision,
      scope: `/${scope.join('/')}`,
      before: textOf(before),
      after: textOf(this.shown),
      paths: differences(before, this.shown).sort(),
    })
  }
}

export function scopeOf(operation: Operation): Scope {
  return operation.kind === 'rollback' ? [] : operation.scope
}
