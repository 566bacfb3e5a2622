import assert from 'node:assert/strict'

/**
 * A naive reference implementation of a store: all events are in one array, and every read scans it. It uses no code of
 * the product.
 */
export interface PlainEvent {
  /** The public key of the writing node in hexadecimal, which sorts like its bytes. */
  readonly node: string
  readonly stream: number
  readonly offset: number
  readonly lamport: number
  readonly time: number
  readonly appId: string
  /** Sorted by bytes. */
  readonly tags: readonly string[]
  /** Null if redacted. */
  readonly payload: string | null
}

export type NewEvent = Pick<PlainEvent, 'stream' | 'appId' | 'tags'> & { readonly payload: string }

export interface Checkpoint {
  readonly count: number
  readonly lamport: number
}

export interface PlainStream {
  readonly node: string
  readonly stream: number
  readonly own: boolean
  count: number
  pruned: number
  checkpoints: Checkpoint[]
  /** Number of events at the last commit. */
  committed: number
  waiting: PlainChunk[]
  readonly redacted: Set<number>
}

/** The events of a stream in a range of offsets. */
export interface PlainChunk {
  readonly node: string
  readonly stream: number
  readonly from: number
  readonly to: number
  readonly checkpoint: boolean
  readonly events: readonly PlainEvent[]
}

export interface PlainBranch {
  readonly tags: readonly string[]
  readonly appId?: string
  readonly own?: boolean
}

export interface PlainSelection {
  readonly anyOf: readonly PlainBranch[]
  readonly order: 'asc' | 'desc' | 'stream-asc'
  /** By index in the list of streams. */
  readonly lower?: ReadonlyMap<number, number>
  readonly upper?: ReadonlyMap<number, number>
}

const [eventsPerFrame, eventsPerCheckpoint, eventsPerChunk, waitingChunks] = [128, 1024, 2047, 64]

export class PlainStore {
  readonly node: string
  readonly streams: PlainStream[] = []
  events: PlainEvent[] = []
  clock = 0

  constructor(node: string) {
    this.node = node
  }

  find(node: string, stream: number): PlainStream | undefined {
    return this.streams.find((known) => known.node === node && known.stream === stream)
  }

  append(events: readonly NewEvent[], time: number): { lamport: number; time: number; runs: unknown[] } {
    const lamport = this.clock
    const runs: { stream: number; offset: number; count: number }[] = []
    for (const event of events) {
      const stream = this.#known(this.node, event.stream)
      const last = runs.at(-1)
      if (last?.stream === event.stream) last.count++
      else runs.push({ stream: event.stream, offset: stream.count, count: 1 })
      this.events.push({ ...event, node: this.node, offset: stream.count++, lamport: this.clock++, time })
    }
    return { lamport, time, runs }
  }

  /** Ends a commit: its events become frames, and a frame that fills a chunk ends with a checkpoint. */
  endCommit(): void {
    for (const stream of this.#ownStreams()) {
      const checkpoints = stream.checkpoints.map(({ count }) => count)
      for (let end = stream.committed; end < stream.count; ) {
        end = Math.min(end + eventsPerFrame, stream.count)
        if (end - (checkpoints.at(-1) ?? 0) >= eventsPerCheckpoint) checkpoints.push(end)
      }
      this.#endCommit(stream, checkpoints)
    }
  }

  /** Ends an unknown number of commits: the checkpoints are given, and have to be possible. */
  endCommits(checkpoints: (stream: PlainStream) => readonly number[]): void {
    for (const stream of this.#ownStreams()) {
      const counts = checkpoints(stream)
      for (const [i, count] of counts.entries()) {
        const size = count - (counts[i - 1] ?? stream.pruned)
        const isStart = i === 0 && count === stream.pruned
        assert.ok(isStart || (size >= eventsPerCheckpoint && size <= eventsPerChunk), `a chunk of ${size} events`)
      }
      assert.ok(stream.count - (counts.at(-1) ?? 0) < eventsPerCheckpoint, 'a checkpoint is missing')
      this.#endCommit(stream, counts)
    }
  }

  #endCommit(stream: PlainStream, counts: readonly number[]): void {
    const known = stream.checkpoints
    assert.deepEqual(
      counts.slice(0, known.length),
      known.map(({ count }) => count),
    )
    const added = counts.slice(known.length).map((count) => ({ count, lamport: this.#at(stream, count - 1).lamport }))
    stream.checkpoints = [...known, ...added]
    stream.committed = stream.count
  }

  /** The chunk at an offset: up to the next checkpoint, or to the end. */
  chunk(stream: PlainStream, from: number): PlainChunk | undefined {
    const checkpoint = stream.checkpoints.find(({ count }) => count > from)
    const to = checkpoint?.count ?? stream.count
    if (to <= from) return undefined
    const events = this.#eventsOf(stream).filter(({ offset }) => offset >= from && offset < to)
    return { node: stream.node, stream: stream.stream, from, to, checkpoint: checkpoint !== undefined, events }
  }

  receive(chunk: PlainChunk): { state: string; count: number } {
    const count = this.find(chunk.node, chunk.stream)?.count ?? 0
    if (chunk.to <= count) return { state: 'known', count }
    if (chunk.from > count) return { state: this.#wait(chunk), count }
    const stream = this.#known(chunk.node, chunk.stream)
    this.#add(stream, chunk)
    this.#addWaiting(stream)
    return { state: 'stored', count: stream.count }
  }

  /** Keeps an early chunk, which comes with the head before it. */
  #wait(chunk: PlainChunk): 'waiting' | 'gap' {
    const stream = this.find(chunk.node, chunk.stream)
    if (stream === undefined) return 'gap'
    // Pruned and redacted data is not kept, not even in waiting chunks.
    if (chunk.events.some(({ offset, payload }) => payload !== null && stream.redacted.has(offset))) return 'gap'
    const other = stream.waiting.find(({ from }) => from === chunk.from)
    if (other !== undefined) return other.to >= chunk.to ? 'waiting' : 'gap'
    if (stream.waiting.length >= waitingChunks) return 'gap'
    stream.waiting.push(chunk)
    return 'waiting'
  }

  #add(stream: PlainStream, chunk: PlainChunk): void {
    for (const event of chunk.events) {
      if (event.offset < stream.count) continue
      this.events.push(stream.redacted.has(event.offset) ? { ...event, payload: null } : event)
      this.clock = Math.max(this.clock, event.lamport + 1)
    }
    stream.count = chunk.to
    if (chunk.checkpoint) stream.checkpoints.push({ count: chunk.to, lamport: chunk.events.at(-1)?.lamport ?? -1 })
  }

  #addWaiting(stream: PlainStream): void {
    while (true) {
      const reached = stream.waiting.filter(({ from }) => from <= stream.count)
      stream.waiting = stream.waiting.filter(({ from }) => from > stream.count)
      const next = reached.sort((a, b) => b.from - a.from).find(({ to }) => to > stream.count)
      if (next === undefined) return
      this.#add(stream, next)
    }
  }

  /** Returns whether it is possible: the checkpoint exists, is the end of an own stream, or comes with the record. */
  prune(node: string, number: number, count: number, head?: Checkpoint): boolean {
    const known = this.find(node, number)
    if (known !== undefined && count <= known.pruned) return true
    if (known !== undefined && count <= known.count) {
      if (known.checkpoints.every((checkpoint) => checkpoint.count !== count)) {
        if (node !== this.node || count !== known.count) return false
        known.checkpoints.push({ count, lamport: this.#at(known, count - 1).lamport })
      }
      this.#drop(known, count)
      return true
    }
    if (head === undefined) return false
    const stream = this.#known(node, number)
    stream.count = count
    stream.checkpoints.push(head)
    stream.waiting = stream.waiting.filter(({ from }) => from >= count)
    this.#drop(stream, count)
    this.clock = Math.max(this.clock, head.lamport + 1)
    this.#addWaiting(stream)
    return true
  }

  #drop(stream: PlainStream, count: number): void {
    stream.pruned = count
    stream.checkpoints = stream.checkpoints.filter((checkpoint) => checkpoint.count >= count)
    const gone = new Set(this.#eventsOf(stream).filter(({ offset }) => offset < count))
    this.events = this.events.filter((event) => !gone.has(event))
  }

  redact(node: string, number: number, offset: number): void {
    const stream = this.#known(node, number)
    if (offset < stream.pruned || stream.redacted.has(offset)) return
    stream.redacted.add(offset)
    // A waiting chunk that may have the payload is dropped; it is received again later.
    if (offset >= stream.count) stream.waiting = stream.waiting.filter(({ from }) => from > offset)
    this.events = this.events.map((event) =>
      event.node === node && event.stream === number && event.offset === offset ? { ...event, payload: null } : event,
    )
  }

  /** The events of a selection, in its order. */
  select({ anyOf, order, lower, upper }: PlainSelection): PlainEvent[] {
    const placeOf = new Map(this.streams.map((stream, place) => [`${stream.node}/${stream.stream}`, place]))
    const place = ({ node, stream }: PlainEvent): number => placeOf.get(`${node}/${stream}`) ?? -1
    const selected = this.events.filter(
      (event) =>
        event.payload !== null &&
        (lower === undefined || event.offset > (lower.get(place(event)) ?? -1)) &&
        (upper === undefined || event.offset <= (upper.get(place(event)) ?? -1)) &&
        anyOf.some((branch) => this.#holds(branch, event)),
    )
    if (order === 'stream-asc') return selected.sort((a, b) => place(a) - place(b) || a.offset - b.offset)
    selected.sort((a, b) => a.lamport - b.lamport || compare(a.node, b.node) || a.stream - b.stream)
    return order === 'asc' ? selected : selected.reverse()
  }

  #holds({ tags, appId, own }: PlainBranch, event: PlainEvent): boolean {
    return (
      tags.every((tag) => event.tags.includes(tag)) &&
      (appId === undefined || appId === event.appId) &&
      (own === undefined || own === (event.node === this.node))
    )
  }

  #known(node: string, stream: number): PlainStream {
    const found = this.find(node, stream)
    if (found !== undefined) return found
    const added: PlainStream = {
      node,
      stream,
      own: node === this.node,
      count: 0,
      pruned: 0,
      checkpoints: [],
      committed: 0,
      waiting: [],
      redacted: new Set(),
    }
    this.streams.push(added)
    return added
  }

  #ownStreams(): PlainStream[] {
    return this.streams.filter(({ own }) => own)
  }

  #eventsOf({ node, stream }: PlainStream): PlainEvent[] {
    return this.events.filter((event) => event.node === node && event.stream === stream)
  }

  #at(stream: PlainStream, offset: number): PlainEvent {
    const event = this.#eventsOf(stream).find((candidate) => candidate.offset === offset)
    assert.ok(event !== undefined)
    return event
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
