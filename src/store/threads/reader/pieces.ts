import { assert } from '../../../base/assert.ts'
import type { Piece } from '../../jobs/job-output.ts'

/** The output of several jobs in one message, joined in one buffer. */
export interface Pieces {
  readonly ids: readonly number[]
  /** The end of each piece in the buffer. */
  readonly ends: readonly number[]
  readonly bytes: Uint8Array<ArrayBuffer>
}

export function joinPieces(pieces: readonly Piece[]): Pieces {
  const [first] = pieces
  // A piece that fills at least half of its buffer is transferred without a copy.
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

/** Passes the piece of each job to `deliver`. */
export function splitPieces({ ids, ends, bytes }: Pieces, deliver: (id: number, piece: Buffer) => void): void {
  assert(ids.length === ends.length && ends.at(-1) === bytes.length, 'the last piece ends with the buffer')
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  if (ids.length === 1) {
    deliver(ids[0] as number, whole)
    return
  }
  let start = 0
  for (const [i, id] of ids.entries()) {
    const end = ends[i] as number
    assert(end > start, 'a piece is not empty')
    // A copy: a slow consumer of a small piece would keep the whole buffer alive.
    const piece = Buffer.allocUnsafeSlow(end - start)
    whole.copy(piece, 0, start, end)
    deliver(id, piece)
    start = end
  }
}
