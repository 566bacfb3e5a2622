import type { StoreOutcome, TableRow } from '../../sync/index.ts'

/** What became of a chunk of a peer. */
export interface ProcessedChunk {
  /** Its size when it had new events, and their number; 0 when it had none. */
  readonly newBytes: number
  readonly newEvents: number
  /** Whether it is the first of a stream that was not stored before. */
  readonly isNewStream: boolean
  /** Whether its stream was refused, because of the limits of streams. */
  readonly isRefused: boolean
}

/**
 * @param row that of its stream now
 * @param known that of its stream before
 */
export function processedChunk(
  { length }: Uint8Array,
  outcome: StoreOutcome,
  row: TableRow | undefined,
  known: TableRow | undefined,
): ProcessedChunk {
  const isStored = outcome === 'stored' && row !== undefined
  return {
    newBytes: isStored ? length : 0,
    newEvents: isStored ? Math.max(0, row.count - (known?.count ?? row.pruned)) : 0,
    isNewStream: isStored && known === undefined,
    isRefused: outcome === 'noRoom',
  }
}
