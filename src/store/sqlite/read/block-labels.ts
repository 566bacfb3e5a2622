import type { Frame } from '../../../protocol/index.ts'
import { type IndexBuilder, writeLabelHashes } from '../index/tag-index.ts'

/**
 * The labels of the events of one block, each of them once, with the hashes by which the index knows them. They are found
 * by their bytes, which stay where they are until the block is finished.
 */
export class BlockLabels {
  /** Twice as many places as labels, so that looking for one comes to an end soon. 0 where nothing is, else the number and 1. */
  readonly #places: Uint16Array
  /** Of each label: a hash of its bytes, and where these are. */
  readonly #hashes: Uint32Array
  readonly #sources: DataView[] = []
  readonly #spans: Int32Array
  /** What the index knows of all labels, and where that of each one ends. */
  #indexed = new Uint32Array(1024)
  readonly #ends: Int32Array

  /** For at most so many labels. */
  constructor(size: number) {
    this.#places = new Uint16Array(2 ** Math.ceil(Math.log2(2 * size)))
    this.#hashes = new Uint32Array(size)
    this.#spans = new Int32Array(2 * size)
    this.#ends = new Int32Array(size)
  }

  get count(): number {
    return this.#sources.length
  }

  clear(): void {
    this.#places.fill(0)
    this.#sources.length = 0
  }

  /** The number of the labels whose canonical bytes stand there: the next one when they are new. */
  numberOf({ bytes, words }: Pick<Frame, 'bytes' | 'words'>, start: number, end: number): number {
    const hash = hashOf(words, start, end)
    const mask = this.#places.length - 1
    let place = hash & mask
    for (let found = this.#places[place] as number; found !== 0; found = this.#places[place] as number) {
      if (this.#hashes[found - 1] === hash && this.#is(found - 1, words, start, end)) return found - 1
      place = (place + 1) & mask
    }
    const number = this.#sources.length
    this.#places[place] = number + 1
    this.#hashes[number] = hash
    this.#sources.push(words)
    this.#spans[2 * number] = start
    this.#spans[2 * number + 1] = end
    this.#index(number, bytes, start, end)
    return number
  }

  /** Adds events to the index, from an offset on, each with the labels of that number. */
  addTo(index: IndexBuilder, offset: number, labelOf: Uint16Array): void {
    for (let i = 0; i < labelOf.length; i++) {
      const label = labelOf[i] as number
      index.add(offset + i, this.#indexed, this.#start(label), this.#ends[label])
    }
  }

  /** Where that of a label begins. */
  #start(number: number): number {
    return number === 0 ? 0 : (this.#ends[number - 1] as number)
  }

  #is(number: number, words: DataView, start: number, end: number): boolean {
    const other = this.#sources[number] as DataView
    const from = this.#spans[2 * number] as number
    if ((this.#spans[2 * number + 1] as number) - from !== end - start) return false
    let [i, j] = [start, from]
    for (; i + 4 <= end; i += 4, j += 4) if (words.getInt32(i) !== other.getInt32(j)) return false
    for (; i < end; i++, j++) if (words.getUint8(i) !== other.getUint8(j)) return false
    return true
  }

  #index(number: number, source: Buffer, start: number, end: number): void {
    const from = this.#start(number)
    // A tag takes a byte at least, and the app two.
    if (from + end - start > this.#indexed.length) {
      const grown = new Uint32Array(2 * this.#indexed.length + end - start)
      grown.set(this.#indexed)
      this.#indexed = grown
    }
    this.#ends[number] = writeLabelHashes(this.#indexed, from, source, start, end)
  }
}

/** Takes four bytes in the time of one: each step waits for the one before it. Nobody else knows this hash. */
function hashOf(words: DataView, start: number, end: number): number {
  let hash = end - start
  let i = start
  for (; i + 4 <= end; i += 4) {
    hash = Math.imul(hash ^ words.getInt32(i, true), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  for (; i < end; i++) hash = Math.imul(hash ^ words.getUint8(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
