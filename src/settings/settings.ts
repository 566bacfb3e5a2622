import { createHash } from 'node:crypto'
import { assert } from '../base/assert.ts'
import { failure, ShoalError } from '../base/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import { versionString } from '../runtime/version.ts'
import { complete, type SettingsDocument } from './document.ts'
import { clone, equal, type Json, type JsonObject } from './json.ts'
import { InvalidSettings, refuseUnstorable } from './problem.ts'
import { schema } from './schema.ts'
import { changedPaths, formatScope, mergePatch, type Scope, valueAt, withoutValueAt, withValueAt } from './scope.ts'

/** A settings document as it was stored: without defaults, so that later versions can change those. */
export interface StoredVersion {
  readonly revision: number
  /** Microseconds since the Unix epoch. */
  readonly time: number
  /** Who or what stored it. */
  readonly origin: string
  readonly document: string
  /** Says that the document was found valid, and by which version of shoal. */
  readonly seal: string
  /** Whether it is not as it was written: its checksum, which does not depend on the version of shoal, does not match. */
  readonly isDamaged?: boolean
}

/** Where versions are kept: only ever appended to, durably. */
export interface SettingsLog {
  /** The data folder, for messages that name the next command to type. */
  readonly folder?: string
  version(revision: number): StoredVersion | undefined
  /** All versions, the newest first. */
  versions(): Iterable<StoredVersion>
  append(version: Omit<StoredVersion, 'revision'>): number
  /** Notes that a version was found valid by this version of shoal; nothing else of it changes. */
  reseal(revision: number, seal: string): void
  /** Removes the versions that are damaged. */
  removeDamaged(): void
}

/** What listeners are told after a change has been stored. */
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

interface Version {
  revision: number
  document: JsonObject
}

/**
 * The settings of a node: a document that is validated completely before it is stored, with every version kept.
 * Reading needs no validator, so the one that is needed to write is loaded with the first change.
 */
export class Settings {
  readonly #log: SettingsLog
  readonly #clock: Clock
  readonly #listeners = new Set<(change: SettingsChange) => void>()
  #current: Version
  /** The newest revision that is stored: one that was refused is above the one in force. */
  #newest: number

  private constructor(log: SettingsLog, clock: Clock, current: Version, newest: number) {
    this.#log = log
    this.#clock = clock
    this.#current = current
    this.#newest = newest
  }

  /**
   * Takes the newest version that is valid. One that is not can only be there when another version of shoal wrote it:
   * `refused` is told, and an older one or the defaults are in force until the next change. A damaged version is an
   * error: an older one may name another topic, and the node would start without its events.
   */
  static async open(
    log: SettingsLog,
    clock: Clock,
    refused: (revision: number, reason: Error) => void = () => {},
  ): Promise<Settings> {
    return await Settings.#open(log, clock, refused, (revision) => {
      throw damagedVersion(log, revision)
    })
  }

  /** Takes the newest version that is valid and not damaged, so that `rollback` can store one again. */
  static async openDamaged(log: SettingsLog, clock: Clock): Promise<Settings> {
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
    for (const stored of [...log.versions()]) {
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

  /** The revision in force; 0 while nothing was ever stored. */
  get revision(): number {
    return this.#current.revision
  }

  /** The whole document with its defaults. */
  get document(): SettingsDocument {
    return complete(this.#current.document) as unknown as SettingsDocument
  }

  get(scope: Scope, { defaults = true } = {}): Json {
    const document = this.#current.document
    const value = valueAt(defaults ? complete(document) : document, scope)
    if (value === undefined) throw failure('ERR_SETTINGS_NOT_FOUND_AT_SCOPE', { scope: formatScope(scope) })
    return clone(value)
  }

  /** Replaces what is at the scope. Answers with the new value there, defaults included. */
  async set(scope: Scope, value: Json, origin: string): Promise<Json> {
    refuseUnstorable(value, formatScope(scope))
    return (await this.#change(scope, origin, (document) =>
      withValueAt(document, complete(document), scope, value),
    )) as Json
  }

  /** Merges an object into what is stored at the scope; null removes a member. */
  async merge(scope: Scope, patch: Json, origin: string): Promise<Json> {
    refuseUnstorable(patch, formatScope(scope))
    return (await this.#change(scope, origin, (document) =>
      withValueAt(document, complete(document), scope, mergePatch(valueAt(document, scope), patch)),
    )) as Json
  }

  /** Removes what is stored at the scope, so that the default shows again. */
  async unset(scope: Scope, origin: string): Promise<void> {
    await this.#change(scope, origin, (document) => withoutValueAt(document, scope))
  }

  /** Stores an earlier version again, as a new one; 0 stands for the defaults. Versions that are damaged are removed. */
  async rollback(revision: number, origin: string): Promise<void> {
    const document = JSON.parse(revision === 0 ? '{}' : this.#undamaged(revision).document) as Json
    if ([...this.#log.versions()].some(({ isDamaged }) => isDamaged === true)) {
      const { checked } = await import('./check-document.ts')
      checked(document)
      // Before the new version is stored: a damaged revision may be the highest number that there is.
      this.#log.removeDamaged()
    }
    await this.#change([], `${origin}, rollback to ${revision}`, () => document)
  }

  #undamaged(revision: number): StoredVersion {
    const stored = this.#log.version(revision)
    if (stored === undefined) throw failure('ERR_SETTINGS_REVISION_UNKNOWN', { revision })
    if (stored.isDamaged === true) throw damagedVersion(this.#log, revision)
    return stored
  }

  /** Every version that was ever stored, the newest first. */
  *history(): Generator<HistoryEntry> {
    for (const { revision, time, origin, document } of this.#log.versions())
      yield { revision, time, origin, document: JSON.parse(document) as JsonObject }
  }

  /** Calls the listener after each change that was stored; the function that comes back ends that. */
  onChange(listener: (change: SettingsChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #change(scope: Scope, origin: string, make: (document: JsonObject) => Json): Promise<Json | undefined> {
    const { checked } = await import('./check-document.ts')
    // From here to the stored version nothing waits, so two changes cannot mix.
    const before = this.#current.document
    const document = checked(make(before))
    if (equal(document, before) && this.#current.revision > 0 && this.#current.revision === this.#newest)
      return valueAt(complete(before), scope)
    const text = JSON.stringify(document)
    const revision = this.#log.append({ time: this.#clock.now(), origin, document: text, seal: sealOf(text) })
    assert(revision > this.#current.revision, 'a new version of the settings has the highest revision')
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
        // The change is stored, whatever a listener makes of it: its defect must not look like a refusal.
        queueMicrotask(() => {
          throw error
        })
      }
    }
  }
}

/** Says which version is damaged, and how to get back to the newest one that is not. */
function damagedVersion(log: SettingsLog, revision: number): ShoalError {
  const folder = log.folder === undefined ? '' : ` --working-dir '${log.folder}'`
  const rollback = (to: number): string => `\`shoal settings local rollback ${to}${folder}\``
  const sound = [...log.versions()].find(({ isDamaged }) => isDamaged !== true)
  const next =
    sound === undefined
      ? `No other revision is undamaged. Put \`node.db\` back from a backup, or go back to the defaults, which may name another topic, with ${rollback(0)}.`
      : `The newest undamaged one is revision ${sound.revision}, with the topic ${topicOf(sound)}, of ${dateOf(sound)}. Go back to it with ${rollback(sound.revision)}, or put \`node.db\` back from a backup.`
  const cause = `Revision ${revision} of the settings is damaged: it is not as it was written. ${next}`
  return new ShoalError('ERR_INVALID_NODE_STATE', cause)
}

function topicOf({ document }: StoredVersion): string {
  const { swarm } = complete(JSON.parse(document) as JsonObject) as unknown as SettingsDocument
  return `'${swarm.topic}'`
}

function dateOf({ time }: StoredVersion): string {
  return new Date(time / 1000).toISOString()
}

/** The document, or why it is not valid. With our own seal it was when it was stored; any other one has to be looked at, once. */
async function validDocument(
  { revision, document, seal }: StoredVersion,
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
    // A full disk, say: then it is checked again at the next start.
  }
  return parsed
}

/** A checkout keeps its version when its rules change. */
const rules = JSON.stringify(schema)

function sealOf(document: string): string {
  return createHash('sha256').update(`${versionString}\n${rules}\n${document}`).digest('hex')
}
