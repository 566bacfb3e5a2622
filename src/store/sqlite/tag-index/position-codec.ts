import type { ByteReader, ByteWriter } from '../../../protocol/index.ts'

/**
 * The positions of one hash, delta encoded from -1 on, with run-length encoding of equal deltas (a tag that every event
 * has): the number of runs, then delta and length of each.
 */
export function writePositions(
  writer: ByteWriter,
  positions: Float64Array,
  start: number,
  end: number,
  origin: number,
): void {
  let runs = 0
  for (let i = start; i < end; i = endOfRun(positions, i, end, i === start ? origin : (positions[i - 1] as number)))
    runs++
  writer.uvarint(runs)
  let before = origin
  for (let i = start; i < end; ) {
    const delta = (positions[i] as number) - before
    const next = endOfRun(positions, i, end, before)
    writeRun(writer, delta, next - i)
    before = positions[next - 1] as number
    i = next
  }
}

/** The end of the run of equal deltas that starts at an index. */
function endOfRun(positions: Float64Array, start: number, end: number, before: number): number {
  const delta = (positions[start] as number) - before
  let at = start + 1
  while (at < end && (positions[at] as number) - (positions[at - 1] as number) === delta) at++
  return at
}

/** The lowest bit says whether a length follows; without one it is 1. */
function writeRun(writer: ByteWriter, delta: number, length: number): void {
  writer.uvarint(2 * delta + (length > 1 ? 1 : 0))
  if (length > 1) writer.uvarint(length)
}

/** Reads positions into a list, or skips them. Returns false, with a partial list, for more than `limit`. */
export function readPositions(
  reader: ByteReader,
  found: number[] | undefined,
  limit = Number.POSITIVE_INFINITY,
): boolean {
  let position = -1
  for (let runs = reader.uvarint(); runs > 0; runs--) {
    const coded = reader.uvarint()
    const delta = Math.floor(coded / 2)
    const length = coded % 2 === 1 ? reader.uvarint() : 1
    if (found === undefined) continue
    if (found.length + length > limit) return false
    for (let i = 0; i < length; i++) {
      position += delta
      found.push(position)
    }
  }
  return true
}

/** Joins the positions of one hash in consecutive ranges, run by run, since there may be very many. */
export class JoinedPositions {
  readonly #deltas: number[] = []
  readonly #lengths: number[] = []
  /** The last position so far. */
  #last = -1

  clear(): this {
    this.#deltas.length = 0
    this.#lengths.length = 0
    this.#last = -1
    return this
  }

  /** Adds the positions of the next range, which starts `shift` events after the first one. */
  add(reader: ByteReader, shift: number): void {
    let position = shift - 1
    let runs = reader.uvarint()
    for (let isFirst = true; runs > 0; runs--) {
      const coded = reader.uvarint()
      const delta = Math.floor(coded / 2)
      const length = coded % 2 === 1 ? reader.uvarint() : 1
      if (isFirst) this.#push(position + delta - this.#last, 1)
      if (length > (isFirst ? 1 : 0)) this.#push(delta, isFirst ? length - 1 : length)
      position += delta * length
      isFirst = false
    }
    this.#last = position
  }

  write(writer: ByteWriter): void {
    writer.uvarint(this.#deltas.length)
    const [deltas, lengths] = [this.#deltas, this.#lengths]
    for (let i = 0; i < deltas.length; i++) writeRun(writer, deltas[i] as number, lengths[i] as number)
  }

  #push(delta: number, length: number): void {
    const last = this.#deltas.length - 1
    if (this.#deltas[last] === delta) this.#lengths[last] = (this.#lengths[last] as number) + length
    else {
      this.#deltas.push(delta)
      this.#lengths.push(length)
    }
  }
}
