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
  let groups = 0
  for (let i = start; i < end; i = afterGroup(positions, i, end, i === start ? origin : (positions[i - 1] as number)))
    groups++
  writer.uvarint(groups)
  let before = origin
  for (let i = start; i < end; ) {
    const step = (positions[i] as number) - before
    const next = afterGroup(positions, i, end, before)
    writeGroup(writer, step, next - i)
    before = positions[next - 1] as number
    i = next
  }
}

/** Where the positions end to which the same step leads. */
function afterGroup(positions: Float64Array, start: number, end: number, before: number): number {
  const step = (positions[start] as number) - before
  let at = start + 1
  while (at < end && (positions[at] as number) - (positions[at - 1] as number) === step) at++
  return at
}

/** The last bit says whether a number of times follows. */
function writeGroup(writer: ByteWriter, step: number, times: number): void {
  writer.uvarint(2 * step + (times > 1 ? 1 : 0))
  if (times > 1) writer.uvarint(times)
}

/** Reads positions into a list, or passes over them. Answers false when there are more than that many: then they are left out. */
export function readPositions(
  reader: ByteReader,
  found: number[] | undefined,
  most = Number.POSITIVE_INFINITY,
): boolean {
  let position = -1
  for (let groups = reader.uvarint(); groups > 0; groups--) {
    const coded = reader.uvarint()
    const step = Math.floor(coded / 2)
    const times = coded % 2 === 1 ? reader.uvarint() : 1
    if (found === undefined) continue
    if (found.length + times > most) return false
    for (let i = 0; i < times; i++) {
      position += step
      found.push(position)
    }
  }
  return true
}

/** Joins the positions that one hash has in ranges which follow each other, group by group: there may be very many of them. */
export class JoinedPositions {
  readonly #steps: number[] = []
  readonly #times: number[] = []
  /** The last position so far. */
  #last = -1

  clear(): this {
    this.#steps.length = 0
    this.#times.length = 0
    this.#last = -1
    return this
  }

  /** Adds the positions that come next, of a range that begins so many events after the first one. */
  add(reader: ByteReader, shift: number): void {
    let position = shift - 1
    let groups = reader.uvarint()
    for (let isFirst = true; groups > 0; groups--) {
      const coded = reader.uvarint()
      const step = Math.floor(coded / 2)
      const times = coded % 2 === 1 ? reader.uvarint() : 1
      if (isFirst) this.#push(position + step - this.#last, 1)
      if (times > (isFirst ? 1 : 0)) this.#push(step, isFirst ? times - 1 : times)
      position += step * times
      isFirst = false
    }
    this.#last = position
  }

  write(writer: ByteWriter): void {
    writer.uvarint(this.#steps.length)
    for (let i = 0; i < this.#steps.length; i++) writeGroup(writer, this.#steps[i] as number, this.#times[i] as number)
  }

  #push(step: number, times: number): void {
    const last = this.#steps.length - 1
    if (this.#steps[last] === step) this.#times[last] = (this.#times[last] as number) + times
    else {
      this.#steps.push(step)
      this.#times.push(times)
    }
  }
}
