/** The redacted offsets of a stream in memory, with their records. */
export class MemoryRedactions {
  readonly #records = new Map<number, Uint8Array>()
  /** The offsets from one on, and their records, as they were counted last; undefined when they have to be counted. */
  #expected: { readonly from: number; readonly records: Set<Uint8Array>; offsets: number } | undefined

  get(offset: number): Uint8Array | undefined {
    return this.#records.get(offset)
  }

  add(offsets: readonly number[], record: Uint8Array): void {
    const expected = this.#expected
    for (const offset of offsets) {
      if (expected !== undefined && offset >= expected.from && !this.#records.has(offset)) {
        expected.offsets++
        expected.records.add(record)
      }
      this.#records.set(offset, record)
    }
  }

  copyFrom(other: MemoryRedactions): void {
    for (const [offset, record] of other.#records) this.#records.set(offset, record)
    this.#expected = undefined
  }

  /** The offsets in a range, ascending. */
  between(from: number, to: number): number[] {
    if (to - from > this.#records.size)
      return [...this.#records.keys()].filter((offset) => offset >= from && offset < to).sort((a, b) => a - b)
    const offsets: number[] = []
    for (let offset = from; offset < to; offset++) if (this.#records.has(offset)) offsets.push(offset)
    return offsets
  }

  /** Number of records and of offsets from one on. */
  expectedFrom(from: number): { readonly records: number; readonly offsets: number } {
    if (this.#expected?.from !== from) {
      const expected = [...this.#records].filter(([offset]) => offset >= from)
      this.#expected = { from, records: new Set(expected.map(([, record]) => record)), offsets: expected.length }
    }
    return { records: this.#expected.records.size, offsets: this.#expected.offsets }
  }

  dropFrom(from: number): void {
    this.#drop((offset) => offset >= from)
  }

  dropBefore(to: number): void {
    this.#drop((offset) => offset < to)
  }

  clear(): void {
    this.#drop(() => true)
  }

  #drop(isDropped: (offset: number) => boolean): void {
    for (const offset of this.#records.keys()) if (isDropped(offset)) this.#records.delete(offset)
    this.#expected = undefined
  }
}
