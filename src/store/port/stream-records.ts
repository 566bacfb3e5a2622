import { limits } from '../../base/limits.ts'

/** Records of a stream, for other nodes: they are sent before the chunks that they concern. */
export interface StreamRecords {
  /** The prune record with the head of its checkpoint, if the stream is pruned. */
  readonly prune?: { readonly record: Uint8Array; readonly head: Uint8Array }
  /** Redaction records, each once, in the order of the first offset of each in the range. */
  readonly redactions: readonly Uint8Array[]
  /** The offset from which on there are more of them. */
  readonly next?: number
}

/** A redacted offset. */
export interface RedactedOffset {
  readonly offset: number
  /** Identifies its record. */
  readonly id: number | Uint8Array
  readonly record: () => Uint8Array
}

/** The records of redacted offsets, which ascend; a limited number of them. */
export function recordsOf(offsets: Iterable<RedactedOffset>): Pick<StreamRecords, 'redactions' | 'next'> {
  const redactions = new Map<number | Uint8Array, Uint8Array>()
  for (const { offset, id, record } of offsets) {
    if (redactions.has(id)) continue
    if (redactions.size >= limits.redactionsPerCall) return { redactions: [...redactions.values()], next: offset }
    redactions.set(id, record())
  }
  return { redactions: [...redactions.values()] }
}
