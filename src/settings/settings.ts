import { assert } from '../base/assert.ts'
import { failure, ShoalError } from '../base/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import { complete } from './document.ts'
import { clone, equal, type Json, type JsonObject } from './json.ts'
import { refuseUnstorable } from './problem.ts'
import { damagedRevision, type SettingsLog, type StoredRevision, sealOf, validDocument } from './revisions.ts'
import type { SettingsDocument } from './schema.ts'
import { changedPaths, formatScope, mergePatch, type Scope, valueAt, withoutValueAt, withValueAt } from './scope.ts'
import { type ValueChange, valueChanges } from './value-changes.ts'

/** The event for listeners after a change was stored. */
export interface SettingsChange {
  readonly revision: number
  readonly origin: string
  readonly scope: string
  readonly before: SettingsDocument
  readonly after: SettingsDocument
  /** The paths whose effective values differ, defaults included. */
  readonly paths: readonly string[]
}

/** What is done with a change besides storing it. */
export interface ChangeOptions {
  /** Who or what makes the change, for the history. */
  readonly origin: string
  /** The revision that the change was made for: with another one in force, it is refused. */
  readonly ifRevision?: number | undefined
  /** Validates the change, and stores nothing. */
  readonly dryRun?: boolean
  /** Refuses a change that leaves no authorized user, when there is one. */
  readonly keepsUser?: boolean
}

export type Change =
  | { readonly do: 'set' | 'merge'; readonly scope: Scope; readonly value: Json }
  | { readonly do: 'unset'; readonly scope: Scope }
  | { readonly do: 'rollback'; readonly revision: number }

/** The result of a change. */
export interface Changed {
  /** The effective value at the scope, including defaults; undefined when there is none. */
  readonly value: Json | undefined
  /** The revision in force: after a dry run the one before it. */
  readonly revision: number
  /** The paths whose effective values differ, defaults included. */
  readonly paths: readonly string[]
  /** The same with the values before and after, without secrets. */
  readonly changes: readonly ValueChange[]
}

export interface HistoryEntry {
  readonly revision: number
  /** Microseconds since the Unix epoch. */
  readonly time: number
  readonly origin: string
  /** The stored document; undefined when it is damaged. */
  readonly document: JsonObject | undefined
}

interface Revision {
  revision: number
  document: JsonObject
}

/**
 * The settings of a node: a document that is validated before it is stored, with all its revisions. The validator is
 * loaded lazily with the first change, since reading does not need it.
 */
export class Settings {
  readonly #log: SettingsLog
  readonly #clock: Clock
  readonly #listeners = new Set<(change: SettingsChange) => void>()
  #current: Revision
  /** The newest stored revision; it is higher than the one in force when it was found invalid. */
  #newest: number

  private constructor(log: SettingsLog, clock: Clock, current: Revision, newest: number) {
    this.#log = log
    this.#clock = clock
    this.#current = current
    this.#newest = newest
  }

  /**
   * Opens the newest valid revision. An invalid one was written by another version of shoal: `refused` is called, and
   * an older revision or the defaults are in force until the next change. A damaged revision is an error: an older one
   * may name another topic, and the node would start without its events.
   */
  static async open(
    log: SettingsLog,
    clock: Clock,
    refused: (revision: number, reason: Error) => void = () => {},
  ): Promise<Settings> {
    return await Settings.#open(log, clock, refused, (revision) => {
      throw damagedRevision(log, revision)
    })
  }

  /** Opens the newest revision that is valid and undamaged, for `rollback`. */
  static async openIgnoringDamage(log: SettingsLog, clock: Clock): Promise<Settings> {
    return await Settings.#open(
      log,
      clock,
      () => {},
      () => {},
    )
  }

  static async #open(
    log: SettingsLog,
    clock: Clock,
    refused: (revision: number, reason: Error) => void,
    damaged: (revision: number) => void,
  ): Promise<Settings> {
    let newest = 0
    for (const stored of [...log.revisions()]) {
      newest = Math.max(newest, stored.revision)
      if (stored.isDamaged === true) {
        damaged(stored.revision)
        continue
      }
      const document = await validDocument(stored, log)
      if (!(document instanceof Error)) return new Settings(log, clock, { revision: stored.revision, document }, newest)
      refused(stored.revision, document)
    }
    return new Settings(log, clock, { revision: 0, document: {} }, newest)
  }

  /** The revision in force; 0 when nothing was stored yet. */
  get revision(): number {
    return this.#current.revision
  }

  /** The effective document, including defaults. */
  get document(): SettingsDocument {
    return complete(this.#current.document) as unknown as SettingsDocument
  }

  get(scope: Scope, { defaults = true } = {}): Json {
    const document = this.#current.document
    const value = valueAt(defaults ? complete(document) : document, scope)
    if (value === undefined) throw failure('ERR_SETTINGS_NOT_FOUND_AT_SCOPE', { scope: formatScope(scope) })
    return clone(value)
  }

  /** Replaces the value at a scope. Returns the new effective value, including defaults. */
  async set(scope: Scope, value: Json, origin: string): Promise<Json> {
    return (await this.change({ do: 'set', scope, value }, { origin })).value as Json
  }

  /** Applies a JSON merge patch to the stored value at a scope. */
  async merge(scope: Scope, value: Json, origin: string): Promise<Json> {
    return (await this.change({ do: 'merge', scope, value }, { origin })).value as Json
  }

  /** Removes the stored value at a scope, so that the default applies again. */
  async unset(scope: Scope, origin: string): Promise<void> {
    await this.change({ do: 'unset', scope }, { origin })
  }

  /** Stores an earlier revision again, as a new one; 0 means the defaults. Damaged revisions are removed. */
  async rollback(revision: number, origin: string): Promise<void> {
    await this.change({ do: 'rollback', revision }, { origin })
  }

  /** Validates and stores a change. */
  async change(change: Change, options: ChangeOptions): Promise<Changed> {
    if (change.do === 'rollback') return await this.#rollback(change.revision, options)
    const { scope } = change
    if (change.do === 'unset') return await this.#change(scope, options, (document) => withoutValueAt(document, scope))
    const { value } = change
    refuseUnstorable(value, formatScope(scope))
    return await this.#change(scope, options, (document) => {
      const next = change.do === 'merge' ? mergePatch(valueAt(document, scope), value) : value
      return withValueAt(document, complete(document), scope, next)
    })
  }

  async #rollback(revision: number, options: ChangeOptions): Promise<Changed> {
    this.#requireRevision(options)
    const document = JSON.parse(revision === 0 ? '{}' : this.#undamaged(revision).document) as Json
    if (options.dryRun !== true && [...this.#log.revisions()].some(({ isDamaged }) => isDamaged === true)) {
      const { checked } = await import('./check-document.ts')
      checked(document)
      // Before the new revision is stored: a damaged one may have the highest number.
      this.#log.removeDamaged()
    }
    return await this.#change([], { ...options, origin: `${options.origin}, rollback to ${revision}` }, () => document)
  }

  #requireRevision({ ifRevision }: ChangeOptions): void {
    const { revision } = this.#current
    if (ifRevision !== undefined && ifRevision !== revision)
      throw failure('ERR_SETTINGS_CONFLICT', { expected: ifRevision, revision })
  }

  #undamaged(revision: number): StoredRevision {
    const stored = this.#log.revision(revision)
    if (stored === undefined) throw failure('ERR_SETTINGS_REVISION_UNKNOWN', { revision })
    if (stored.isDamaged === true) throw damagedRevision(this.#log, revision)
    return stored
  }

  /** The newest revisions, newest first. */
  *history(most: number): Generator<HistoryEntry> {
    for (const { revision, time, origin, document, isDamaged } of this.#log.revisions(most))
      yield {
        revision,
        time,
        origin,
        document: isDamaged === true ? undefined : (JSON.parse(document) as JsonObject),
      }
  }

  /** Subscribes to stored changes. Returns the function to unsubscribe. */
  onChange(listener: (change: SettingsChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #change(scope: Scope, options: ChangeOptions, make: (document: JsonObject) => Json): Promise<Changed> {
    const { checked } = await import('./check-document.ts')
    // Synchronous from here until the revision is stored, so concurrent changes are serialised.
    this.#requireRevision(options)
    const before = this.#current.document
    const document = checked(make(before))
    const after = complete(document)
    if (options.keepsUser === true) requireUser(complete(before), after)
    const changes = valueChanges(complete(before), after)
    const changed = { value: valueAt(after, scope), changes, paths: changes.map(({ path }) => path) }
    const isStored = equal(document, before) && this.#current.revision > 0 && this.#current.revision === this.#newest
    if (options.dryRun !== true && !isStored) this.#store(scope, options.origin, document)
    return { ...changed, revision: this.#current.revision }
  }

  #store(scope: Scope, origin: string, document: JsonObject): void {
    const before = this.#current.document
    const text = JSON.stringify(document)
    const revision = this.#log.append({ time: this.#clock.now(), origin, document: text, seal: sealOf(text) })
    assert(revision > this.#current.revision, 'a new revision of the settings has the highest number')
    this.#current = { revision, document }
    this.#newest = revision
    this.#announce(scope, origin, before)
  }

  #announce(scope: Scope, origin: string, stored: JsonObject): void {
    const before = complete(stored)
    const after = complete(this.#current.document)
    const change: SettingsChange = {
      revision: this.#current.revision,
      origin,
      scope: formatScope(scope),
      before: before as unknown as SettingsDocument,
      after: after as unknown as SettingsDocument,
      paths: changedPaths(before, after),
    }
    for (const listener of this.#listeners) {
      try {
        listener(change)
      } catch (error) {
        // The change is stored already: an error of a listener must not look like a refused change.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

function requireUser(before: JsonObject, after: JsonObject): void {
  const hasUser = ({ admin }: JsonObject): boolean => (admin as SettingsDocument['admin']).authorizedUsers.length > 0
  if (hasUser(before) && !hasUser(after))
    throw new ShoalError(
      'ERR_INVALID_INPUT',
      'This removes the last authorized user: without one the node can be claimed again. The parameter `force=true`, or `--force` on the command line, does it.',
    )
}
