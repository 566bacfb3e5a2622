import type { StreamNumber } from '../../port/index.ts'
import { checksum, DamagedData } from './checksum.ts'

/** The row of a stream, without its events. */
export interface StreamRow {
  readonly number: StreamNumber
  readonly node: Uint8Array
  readonly nr: number
  readonly pruned: number
  /** The count of the newest checkpoint. */
  readonly checkpoint: number
  readonly record: Uint8Array | null
  readonly head: Uint8Array | null
  readonly crc: number
}

const nothing = new Uint8Array()

export function streamCrc({ number, node, nr, pruned, checkpoint, record, head }: Omit<StreamRow, 'crc'>): number {
  return (
    (checksum(node, number, nr, pruned, checkpoint) ^ checksum(record ?? nothing, 1) ^ checksum(head ?? nothing, 2)) >>>
    0
  )
}

/** Checks a row against its expected number: streams are numbered without gaps. */
export function checkStreamRow(row: StreamRow, number: StreamNumber): void {
  if (row.number !== number || streamCrc(row) !== row.crc)
    throw new DamagedData(`the entry of stream ${number} is damaged`)
}

/** The row of a vacant slot: no stream has this number, and its node has no bytes. */
export function vacantRow(number: StreamNumber, pruned = 0): StreamRow {
  const row = { number, node: nothing, nr: number, pruned, checkpoint: 0, record: null, head: null }
  return { ...row, crc: streamCrc(row) }
}

export function isVacant({ node }: Pick<StreamRow, 'node'>): boolean {
  return node.length === 0
}
