import { assert } from '../../../base/assert.ts'
import { currentPrune, type PrunableStream } from '../../../replication/index.ts'
import { checkpointAt, headOf } from '../rows/checkpoints.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { placeAt } from './early-checkpoint.ts'
import type { LogState } from './log-state.ts'

/** A stream of the log, for the rules of pruning. */
export function prunable(log: LogState, state: StreamState): PrunableStream {
  const { database } = log
  const hasCheckpoint = (count: number): boolean =>
    database.prepare('SELECT 1 FROM checkpoint WHERE key = ?').get(rowKey(state.number, count)) !== undefined
  return {
    position: state,
    hasCheckpoint,
    placeAt: (count) =>
      hasCheckpoint(count) ? headOf(checkpointAt(database, state.number, count)) : placeAt(log, state, count),
  }
}

/** The prune record of a stream with the head of its checkpoint; undefined when there is none that can be sent. */
export function storedPrune(
  { database, statements, options }: LogState,
  { number, pruned }: StreamState,
): { readonly record: Uint8Array; readonly head: Uint8Array } | undefined {
  if (pruned === 0) return undefined
  const stored = statements.getStream.get(number)?.['record']
  assert(stored instanceof Uint8Array, 'a pruned stream has its prune record')
  const checkpoint = checkpointAt(database, number, pruned)
  const record = currentPrune(stored, headOf(checkpoint), options)
  return record && { record, head: checkpoint.head }
}
