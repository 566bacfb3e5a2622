import { limits } from '../../base/limits.ts'
import { heads, signedHeadOf } from '../../protocol/index.ts'
import { nameOfStream } from '../../replication/index.ts'
import type { ApplyOutcome, Effect, RecordsMessage, StoreOutcome, TableRow } from '../../sync/index.ts'

/** What became of a chunk of a peer. */
export interface ProcessedChunk {
  /** Its size when it had new events, and their number; 0 when it had none. */
  readonly newBytes: number
  readonly newEvents: number
  /** Whether it is the first of a stream that was not stored before. */
  readonly isNewStream: boolean
  /** Whether its stream was refused, because of the limits of streams. */
  readonly isRefused: boolean
  /** The name of its stream, if it is new or refused. */
  readonly newStream: string | undefined
  /** What it counts as a verification without any effect; 0 when it had one. */
  readonly inVain: number
}

/** Outcomes of chunks that were verified and have changed nothing. */
const vainOutcomes: ReadonlySet<StoreOutcome> = new Set(['known', 'gap', 'contradicts', 'frozen', 'early', 'noRoom'])

/** Those of new events that cannot be stored now: an honest peer does not know that. */
const goodFaithOutcomes: ReadonlySet<StoreOutcome> = new Set(['gap', 'early', 'noRoom'])

/**
 * @param row that of its stream now
 * @param known that of its stream before
 */
export function processedChunk(
  { chunk, want }: Pick<Extract<Effect, { do: 'store' }>, 'chunk' | 'want'>,
  outcome: StoreOutcome,
  row: TableRow | undefined,
  known: TableRow | undefined,
): ProcessedChunk {
  const isStored = outcome === 'stored' && row !== undefined
  const isNewStream = isStored && known === undefined
  const isRefused = outcome === 'noRoom'
  return {
    newBytes: isStored ? chunk.length : 0,
    newEvents: isStored ? Math.max(0, row.count - (known?.count ?? row.pruned)) : 0,
    isNewStream,
    isRefused,
    newStream: isNewStream || isRefused ? nameOfStream(heads.decodeStored(signedHeadOf(chunk)).stream) : undefined,
    inVain: vainOutcomes.has(outcome) ? verification(want !== undefined || goodFaithOutcomes.has(outcome)) : 0,
  }
}

/** What records of a peer count as verifications without any effect. */
export function recordsInVain({ id, prune, redactions }: RecordsMessage, outcome: ApplyOutcome): number {
  if (outcome === 'invalid') return 0
  const records = redactions.length + (prune === undefined ? 0 : 1)
  // A single new record among many must not make all of them free.
  return (outcome === 'applied' ? records - 1 : records) * verification(id !== 0)
}

function verification(isInGoodFaith: boolean): number {
  return isInGoodFaith ? limits.goodFaithVerification : 1
}
