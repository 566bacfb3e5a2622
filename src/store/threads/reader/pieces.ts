import { assert } from '../../../base/assert.ts'
import type { Piece } from '../../jobs/job-runner.ts'

/** What several jobs have written, on its way from one thread to another as one piece of memory. */
export interface Pieces {
  readonly ids: readonly number[]
  /** Where the bytes of each end. */
  readonly ends: readonly number[]
  readonly bytes: Uint8Array<ArrayBuffer>
}

export function joinPieces(pieces: readonly Piece[]): Pieces {
  const [first] = pieces
  // One that fills its memory needs no other.
  if (pieces.length === 1 && first !== undefined && 2 * first.bytes.length >= first.bytes.buffer.byteLength)
    return { ids: [first.id], ends: [first.bytes.length], bytes: first.bytes }
  const joined = new Uint8Array(pieces.reduce((sum, { bytes }) => sum + bytes.length, 0))
  const ends: number[] = []
  let at = 0
  for (const { bytes } of pieces) {
    joined.set(bytes, at)
    at += bytes.length
    ends.push(at)
  }
  return { ids: pieces.map(({ id }) => id), ends, bytes: joined }
}

/** Gives the bytes of each job to whom they belong. */
export function splitPieces({ ids, ends, bytes }: Pieces, give: (id: number, piece: Buffer) => void): void {
  assert(ids.length === ends.length && ends.at(-1) === bytes.length, 'pieces end where their bytes do')
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (ids.length === 1) {
    give(ids[0] as number, whole)
    return
  }
  let start = 0
  for (const [i, id] of ids.entries()) {
    const end = ends[i] as number
    assert(end > start, 'a piece has bytes')
    // A copy: somebody who does not take a small piece for long would keep all the others with it.
    const piece = Buffer.allocUnsafeSlow(end - start)
    whole.copy(piece, 0, start, end)
    give(id, piece)
    start = end
  }
}
