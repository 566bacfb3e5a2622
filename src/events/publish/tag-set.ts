import { assert } from '../../base/assert.ts'
import { format } from '../../base/format.ts'
import { viewOf } from '../../json/plain-text.ts'
import type { ByteWriter } from '../../protocol/index.ts'

const noBytes = Buffer.alloc(0)

/** The tags of one event, as ranges of a text, in byte order. They are sorted and copied without creating strings. */
export class TagSet {
  #bytes: Uint8Array = noBytes
  #view = viewOf(noBytes)
  readonly #starts = new Int32Array(format.tagsPerEvent)
  readonly #ends = new Int32Array(format.tagsPerEvent)
  #count = 0
  #hasDuplicates = false

  /** Removes all tags. The next ones are in this text, of which `view` is a view. */
  clear(bytes: Uint8Array, view: DataView): void {
    this.#bytes = bytes
    this.#view = view
    this.#count = 0
    this.#hasDuplicates = false
  }

  /** The number of added tags, including duplicates. */
  get count(): number {
    return this.#count
  }

  start(index: number): number {
    return this.#starts[index] as number
  }

  end(index: number): number {
    return this.#ends[index] as number
  }

  /** Insertion sort: adds a tag to those before it. */
  add(start: number, end: number): void {
    assert(this.#count < format.tagsPerEvent, 'the caller limits the number of tags')
    const starts = this.#starts
    const ends = this.#ends
    let i = this.#count++
    for (; i > 0; i--) {
      const order = this.#compare(starts[i - 1] as number, ends[i - 1] as number, start, end)
      if (order === 0) this.#hasDuplicates = true
      if (order <= 0) break
      starts[i] = starts[i - 1] as number
      ends[i] = ends[i - 1] as number
    }
    starts[i] = start
    ends[i] = end
  }

  /** Writes the number of tags without duplicates, and each tag with its length. */
  writeTo(target: ByteWriter): void {
    if (this.#hasDuplicates) this.#removeDuplicates()
    const starts = this.#starts
    const ends = this.#ends
    target.uvarint(this.#count)
    for (let i = 0; i < this.#count; i++) {
      const start = starts[i] as number
      const end = ends[i] as number
      target.uvarint(end - start).shortBytes(this.#view, start, end)
    }
  }

  #removeDuplicates(): void {
    const starts = this.#starts
    const ends = this.#ends
    let unique = 0
    for (let i = 0; i < this.#count; i++) {
      const start = starts[i] as number
      const end = ends[i] as number
      if (unique > 0 && this.#compare(starts[unique - 1] as number, ends[unique - 1] as number, start, end) === 0)
        continue
      starts[unique] = start
      ends[unique++] = end
    }
    this.#count = unique
    this.#hasDuplicates = false
  }

  #compare(start: number, end: number, otherStart: number, otherEnd: number): number {
    const bytes = this.#bytes
    const view = this.#view
    const length = Math.min(end - start, otherEnd - otherStart)
    let i = 0
    while (i + 4 <= length && view.getInt32(start + i) === view.getInt32(otherStart + i)) i += 4
    for (; i < length; i++) {
      const difference = (bytes[start + i] as number) - (bytes[otherStart + i] as number)
      if (difference !== 0) return difference
    }
    return end - start - (otherEnd - otherStart)
  }
}
