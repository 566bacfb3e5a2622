import type { DatabaseSync } from 'node:sqlite'
import { ShoalError } from '../../../base/errors.ts'
import { nodeIdOf, type PublicKey } from '../../../identity/index.ts'
import { metaOf, openForReading } from '../log-database.ts'
import { asDamage } from '../rows/checksum.ts'
import { rowKey } from '../rows/row-key.ts'

/** Streams that have events and no received head: they were written by the node of this log. */
const ownStreams = `
  SELECT DISTINCT node FROM stream WHERE head IS NULL
    AND (checkpoint > 0 OR EXISTS (SELECT 1 FROM tail WHERE key >= number * ?1 AND key < (number + 1) * ?1))`

/** The public keys of the nodes that have written a log. */
export function writersOf(database: DatabaseSync): PublicKey[] {
  if (metaOf(database).kind === 'imported') return []
  const rows = asDamage(() => database.prepare(ownStreams).all(rowKey(1, 0)))
  return rows.map(({ node }) => Uint8Array.from(node as Uint8Array) as PublicKey)
}

export function writersOfFile(file: string): PublicKey[] {
  const database = openForReading(file)
  try {
    return writersOf(database)
  } finally {
    database.close()
  }
}

export function sameKey(a: PublicKey, b: PublicKey): boolean {
  return Buffer.compare(a, b) === 0
}

/** Throws when a log was written with other keys only: this node would start new streams beside those. */
export function checkWriter(database: DatabaseSync, own: PublicKey, file: string): void {
  const writers = writersOf(database)
  if (writers.length === 0 || writers.some((writer) => sameKey(writer, own))) return
  const others = writers.map(nodeIdOf).join(', ')
  throw new ShoalError(
    'ERR_INVALID_NODE_STATE',
    `\`${file}\` was written by the node ${others}, but the private key in \`node.db\` is that of the node ${nodeIdOf(own)}. Put back the \`node.db\` that belongs to it, or choose another directory with --working-dir.`,
  )
}
