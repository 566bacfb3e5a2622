import type { DatabaseSync } from 'node:sqlite'
import type { StoredStream } from '../../../replication/index.ts'
import type { StreamNumber } from '../../port/index.ts'
import { checkpointAt, checkpointsAfter } from '../rows/checkpoints.ts'
import { evidenceOf } from '../rows/evidence.ts'
import { offsetOf, rowKey } from '../rows/row-key.ts'
import { framesFrom } from './frames.ts'

/** A stream in the database, for the rules of replication. */
export function storedStream(
  database: DatabaseSync,
  number: StreamNumber,
  position: Pick<StoredStream, 'count' | 'pruned' | 'genesis'>,
): StoredStream {
  const { count, pruned, genesis } = position
  return {
    count,
    pruned,
    genesis,
    get frozen() {
      return evidenceOf(database, number)?.frozen
    },
    checkpointAfter: (offset) => checkpointsAfter(database, number, offset, 1)[0]?.head,
    checkpointUpTo: (most) => checkpointUpTo(database, number, most),
    frames: (from, to) => framesFrom(database, number, from, to),
  }
}

function checkpointUpTo(database: DatabaseSync, stream: StreamNumber, count: number): Uint8Array | undefined {
  const row = database
    .prepare('SELECT max(key) AS key FROM checkpoint WHERE key > ? AND key <= ?')
    .get(rowKey(stream, 0), rowKey(stream, count))
  return row?.['key'] == null ? undefined : checkpointAt(database, stream, offsetOf(Number(row['key']))).head
}
