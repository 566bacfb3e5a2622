import type { Frame } from '../../../protocol/index.ts'
import { type IndexBuilder, writeLabelHashes } from '../tag-index/tag-index.ts'

/**
 * The distinct labels of the events of one block, with their hashes for the index: a hash table over their bytes, which
 * must not change until the block is finished.
 */
export class BlockLabels {
  /** Open addressing with a load factor of at most 1/2: the number of a label plus 1, or 0 for an empty slot. */
  readonly #slots: Uint16Array
  /** For each label: the hash and the position of its bytes. */
  readonly #hashes: Uint32Array
  readonly #sources: DataView[] = []
  readonly #spans: Int32Array
  /** The index hashes of all labels, and where those of each label end. */
  #indexHashes = new Uint32Array(1024)
  readonly #ends: Int32Array

  /** `size` is the maximum number of labels. */
  constructor(size: number) {
    this.#slots = new Uint16Array(2 ** Math.ceil(Math.log2(2 * size)))
    this.#hashes = new Uint32Array(size)
    this.#spans = new Int32Array(2 * size)
    this.#ends = new Int32Array(size)
  }

  get count(): number {
    return this.#sources.length
  }

  clear(): void {
    this.#slots.fill(0)
    this.#sources.length = 0
  }

  /** The number of the labels with these canonical bytes: the next number if they are new. */
  numberOf({ bytes, view }: Pick<Frame, 'bytes' | 'view'>, start: number, end: number): number {
    const hash = hashOf(view, start, end)
    const mask = this.#slots.length - 1
    let slot = hash & mask
    for (let found = this.#slots[slot] as number; found !== 0; found = this.#slots[slot] as number) {
      if (this.#hashes[found - 1] === hash && this.#is(found - 1, view, start, end)) return found - 1
      slot = (slot + 1) & mask
    }
    const number = this.#sources.length
    this.#slots[slot] = number + 1
    this.#hashes[number] = hash
    this.#sources.push(view)
    this.#spans[2 * number] = start
    this.#spans[2 * number + 1] = end
    this.#index(number, bytes, start, end)
    return number
  }

  /** Adds consecutive events to the index, from an offset on, each with the number of its labels. */
  addTo(index: IndexBuilder, offset: number, labelOf: Uint16Array): void {
    for (let i = 0; i < labelOf.length; i++) {
      const label = labelOf[i] as number
      index.add(offset + i, this.#indexHashes, this.#start(label), this.#ends[label])
    }
  }

  /** Where the index hashes of a label start. */
  #start(number: number): number {
    return number === 0 ? 0 : (this.#ends[number - 1] as number)
  }

  #is(number: number, view: DataView, start: number, end: number): boolean {
    const other = this.#sources[number] as DataView
    const from = this.#spans[2 * number] as number
    if ((this.#spans[2 * number + 1] as number) - from !== end - start) return false
    let [i, j] = [start, from]
    for (; i + 4 <= end; i += 4, j += 4) if (view.getInt32(i) !== other.getInt32(j)) return false
    for (; i < end; i++, j++) if (view.getUint8(i) !== other.getUint8(j)) return false
    return true
  }

  #index(number: number, source: Buffer, start: number, end: number): void {
    const from = this.#start(number)
    // There are fewer hashes than bytes: a tag takes at least one, the app ID two.
    if (from + end - start > this.#indexHashes.length) {
      const grown = new Uint32Array(2 * this.#indexHashes.length + end - start)
      grown.set(this.#indexHashes)
      this.#indexHashes = grown
    }
    this.#ends[number] = writeLabelHashes(this.#indexHashes, from, source, start, end)
  }
}

/** Four bytes per step, since each step depends on the previous one. Only used in memory, never stored. */
function hashOf(view: DataView, start: number, end: number): number {
  let hash = end - start
  let i = start
  for (; i + 4 <= end; i += 4) {
    hash = Math.imul(hash ^ view.getInt32(i, true), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  for (; i < end; i++) hash = Math.imul(hash ^ view.getUint8(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
