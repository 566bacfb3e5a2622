import { format } from '../../base/format.ts'
import { tuning } from '../../base/tuning.ts'

/**
 * Splits ascending offsets into batches, each for one redaction record. A batch has events of few chunks only: the
 * writer thread rewrites each of these chunks, and publishing waits meanwhile.
 * @param ends the offsets after the last event of each chunk, ascending
 */
export function redactionBatches(offsets: readonly number[], ends: readonly number[]): number[][] {
  const batches: number[][] = []
  let batch: number[] = []
  let [ranges, chunks] = [0, 0]
  let [chunk, lastChunk] = [0, -1]
  for (const offset of offsets) {
    while (chunk < ends.length && (ends[chunk] as number) <= offset) chunk++
    const startsChunk = chunk !== lastChunk
    const startsRange = batch.at(-1) !== offset - 1
    const isFull =
      batch.length === format.offsetsPerRedaction ||
      (startsRange && ranges === format.rangesPerRedaction) ||
      (startsChunk && chunks === tuning.chunksPerRedaction)
    if (isFull || batch.length === 0) {
      batch = []
      batches.push(batch)
      ranges = 1
      chunks = 1
    } else {
      if (startsRange) ranges++
      if (startsChunk) chunks++
    }
    lastChunk = chunk
    batch.push(offset)
  }
  return batches
}
