interface Entry {
  readonly name: string
  readonly at: number
}

/** Names with times, earliest first: a binary heap. A name has one time, the earliest that was given. */
export class Schedule {
  readonly #heap: Entry[] = []
  readonly #times = new Map<string, number>()

  /** The earliest time, or an earlier one at which nothing is due any more. */
  get next(): number {
    return this.#heap[0]?.at ?? Number.POSITIVE_INFINITY
  }

  add(name: string, at: number): void {
    const known = this.#times.get(name)
    if (known !== undefined && known <= at) return
    this.#times.set(name, at)
    this.#push({ name, at })
  }

  /** Removes and returns the names that are due, in the order of their times. */
  take(now: number): string[] {
    const due: string[] = []
    while (this.next <= now) {
      const { name, at } = this.#pop()
      // A name with an earlier time was returned then.
      if (this.#times.get(name) !== at) continue
      this.#times.delete(name)
      due.push(name)
    }
    return due
  }

  #push(entry: Entry): void {
    const heap = this.#heap
    let i = heap.push(entry) - 1
    while (i > 0) {
      const parent = (i - 1) >> 1
      if ((heap[parent] as Entry).at <= entry.at) break
      heap[i] = heap[parent] as Entry
      i = parent
    }
    heap[i] = entry
  }

  #pop(): Entry {
    const heap = this.#heap
    const first = heap[0] as Entry
    const last = heap.pop() as Entry
    if (heap.length === 0) return first
    let i = 0
    for (let child = 1; child < heap.length; child = 2 * i + 1) {
      if (child + 1 < heap.length && (heap[child + 1] as Entry).at < (heap[child] as Entry).at) child++
      if ((heap[child] as Entry).at >= last.at) break
      heap[i] = heap[child] as Entry
      i = child
    }
    heap[i] = last
    return first
  }
}
