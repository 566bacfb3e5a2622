import { createHash } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { failure, ShoalError } from '../base/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import { versionString } from '../runtime/version.ts'
import { complete } from './document.ts'
import { clone, equal, type Json, type JsonObject } from './json.ts'
import { InvalidSettings, refuseUnstorable } from './problem.ts'
import { type SettingsDocument, schema } from './schema.ts'
import { changedPaths, formatScope, mergePatch, type Scope, valueAt, withoutValueAt, withValueAt } from './scope.ts'

/** A stored revision of the settings document: without defaults, so that later versions of shoal can change them. */
export interface StoredRevision {
  readonly revision: number
  /** Microseconds since the Unix epoch. */
  readonly time: number
  /** Who or what stored it. */
  readonly origin: string
  readonly document: string
  /** A hash of document, schema and version of shoal: proves that this version has validated the document. */
  readonly seal: string
  /** Whether its checksum is wrong; unlike the seal it does not depend on the version of shoal. */
  readonly isDamaged?: boolean
}

/** The durable, append-only log of revisions. */
export interface SettingsLog {
  /** The data folder, for error messages that suggest a command. */
  readonly folder?: string
  revision(number: number): StoredRevision | undefined
  /** All revisions, newest first. */
  revisions(): Iterable<StoredRevision>
  append(entry: Omit<StoredRevision, 'revision'>): number
  /** Replaces the seal of a revision, after this version of shoal has validated it. */
  reseal(revision: number, seal: string): void
  /** Removes the damaged revisions. */
  removeDamaged(): void
}

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

export interface HistoryEntry {
  readonly revision: number
  readonly time: number
  readonly origin: string
  readonly document: JsonObject
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
    refuseUnstorable(value, formatScope(scope))
    return (await this.#change(scope, origin, (document) =>
      withValueAt(document, complete(document), scope, value),
    )) as Json
  }

  /** Applies a JSON merge patch to the stored value at a scope. */
  async merge(scope: Scope, patch: Json, origin: string): Promise<Json> {
    refuseUnstorable(patch, formatScope(scope))
    return (await this.#change(scope, origin, (document) =>
      withValueAt(document, complete(document), scope, mergePatch(valueAt(document, scope), patch)),
    )) as Json
  }

  /** Removes the stored value at a scope, so that the default applies again. */
  async unset(scope: Scope, origin: string): Promise<void> {
    await this.#change(scope, origin, (document) => withoutValueAt(document, scope))
  }

  /** Stores an earlier revision again, as a new one; 0 means the defaults. Damaged revisions are removed. */
  async rollback(revision: number, origin: string): Promise<void> {
    const document = JSON.parse(revision === 0 ? '{}' : this.#undamaged(revision).document) as Json
    if ([...this.#log.revisions()].some(({ isDamaged }) => isDamaged === true)) {
      const { checked } = await import('./check-document.ts')
      checked(document)
      // Before the new revision is stored: a damaged one may have the highest number.
      this.#log.removeDamaged()
    }
    await this.#change([], `${origin}, rollback to ${revision}`, () => document)
  }

  #undamaged(revision: number): StoredRevision {
    const stored = this.#log.revision(revision)
    if (stored === undefined) throw failure('ERR_SETTINGS_REVISION_UNKNOWN', { revision })
    if (stored.isDamaged === true) throw damagedRevision(this.#log, revision)
    return stored
  }

  /** All revisions, newest first. */
  *history(): Generator<HistoryEntry> {
    for (const { revision, time, origin, document } of this.#log.revisions())
      yield { revision, time, origin, document: JSON.parse(document) as JsonObject }
  }

  /** Subscribes to stored changes. Returns the function to unsubscribe. */
  onChange(listener: (change: SettingsChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #change(scope: Scope, origin: string, make: (document: JsonObject) => Json): Promise<Json | undefined> {
    const { checked } = await import('./check-document.ts')
    // Synchronous from here until the revision is stored, so concurrent changes are serialised.
    const before = this.#current.document
    const document = checked(make(before))
    if (equal(document, before) && this.#current.revision > 0 && this.#current.revision === this.#newest)
      return valueAt(complete(before), scope)
    const text = JSON.stringify(document)
    const revision = this.#log.append({ time: this.#clock.now(), origin, document: text, seal: sealOf(text) })
    assert(revision > this.#current.revision, 'a new revision of the settings has the highest number')
    this.#current = { revision, document }
    this.#newest = revision
    this.#announce(scope, origin, before)
    return valueAt(complete(document), scope)
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

/** The error for a damaged revision: suggests a rollback to the newest undamaged one. */
function damagedRevision(log: SettingsLog, revision: number): ShoalError {
  const folder = log.folder === undefined ? '' : ` --working-dir '${log.folder}'`
  const rollback = (to: number): string => `\`shoal settings local rollback ${to}${folder}\``
  const undamaged = [...log.revisions()].find(({ isDamaged }) => isDamaged !== true)
  const next =
    undamaged === undefined
      ? `No other revision is undamaged. Put \`node.db\` back from a backup, or go back to the defaults, which may name another topic, with ${rollback(0)}.`
      : `The newest undamaged one is revision ${undamaged.revision}, with the topic ${topicOf(undamaged)}, of ${dateOf(undamaged)}. Go back to it with ${rollback(undamaged.revision)}, or put \`node.db\` back from a backup.`
  const cause = `Revision ${revision} of the settings is damaged: its checksum is wrong. ${next}`
  return new ShoalError('ERR_INVALID_NODE_STATE', cause)
}

function topicOf({ document }: StoredRevision): string {
  const { swarm } = complete(JSON.parse(document) as JsonObject) as unknown as SettingsDocument
  return `'${swarm.topic}'`
}

function dateOf({ time }: StoredRevision): string {
  return new Date(time / 1000).toISOString()
}

/** The document, or why it is invalid. With this version's seal it is known to be valid; else it is validated once. */
async function validDocument(
  { revision, document, seal }: StoredRevision,
  log: SettingsLog,
): Promise<JsonObject | Error> {
  let parsed: Json
  try {
    parsed = JSON.parse(document) as Json
  } catch (error) {
    return error as Error
  }
  if (seal === sealOf(document)) return parsed as JsonObject
  const { checked } = await import('./check-document.ts')
  try {
    parsed = checked(parsed)
  } catch (error) {
    if (error instanceof InvalidSettings) return error
    throw error
  }
  try {
    log.reseal(revision, sealOf(document))
  } catch {
    // For example a full disk. Then it is validated again at the next start.
  }
  return parsed
}

/** The schema is part of the seal because a checkout keeps its version number when the schema changes. */
const rules = JSON.stringify(schema)

function sealOf(document: string): string {
  return createHash('sha256').update(`${versionString}\n${rules}\n${document}`).digest('hex')
}
