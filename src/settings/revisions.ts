import { createHash } from 'node:crypto'
import { ShoalError } from '../base/errors.ts'
import { versionString } from '../runtime/version.ts'
import { complete } from './document.ts'
import type { Json, JsonObject } from './json.ts'
import { InvalidSettings } from './problem.ts'
import { type SettingsDocument, schema } from './schema.ts'

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
  /** The revisions, newest first; all of them, or at most a number. */
  revisions(most?: number): Iterable<StoredRevision>
  append(entry: Omit<StoredRevision, 'revision'>): number
  /** Replaces the seal of a revision, after this version of shoal has validated it. */
  reseal(revision: number, seal: string): void
  /** Removes the damaged revisions. */
  removeDamaged(): void
}

/** The error for a damaged revision: suggests a rollback to the newest undamaged one. */
export function damagedRevision(log: SettingsLog, revision: number): ShoalError {
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
export async function validDocument(
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

export function sealOf(document: string): string {
  return createHash('sha256').update(`${versionString}\n${rules}\n${document}`).digest('hex')
}
