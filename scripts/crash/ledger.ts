import { eventsOf, type SentEvent } from './contents.ts'
import type { Report } from './messages.ts'
import type { Problems } from './problems.ts'

/** A request that has to be stored: it was acknowledged, or found after a kill. */
export interface KnownRequest {
  readonly id: number
  readonly lamport: number
  readonly time: number
  /** The offset of each of its events; undefined for events that were pruned before they were seen. */
  readonly offsets: readonly (number | undefined)[]
}

export interface Place {
  readonly request: KnownRequest
  readonly index: number
}

/** A requested redaction. */
export interface Redaction {
  readonly stream: number
  readonly offset: number
}

/** The expected content of a stream. */
export class StreamLedger {
  count = 0
  pruned = 0
  /** A requested prune that was not acknowledged. */
  pruning = 0
  /** The number of events at the last check. */
  checked = 0
  /** The events by offset, including redacted ones, without pruned ones. */
  readonly places = new Map<number, Place>()
  /** Redacted offsets, and whether the redaction was acknowledged. */
  readonly removed = new Map<number, boolean>()

  prune(count: number): void {
    for (let offset = this.pruned; offset < count; offset++) {
      this.places.delete(offset)
      this.removed.delete(offset)
    }
    this.pruned = Math.max(this.pruned, count)
    this.count = Math.max(this.count, count)
  }
}

/** Everything that a store has to contain after all of its lives, and what it may contain. */
export class Ledger {
  readonly seed: string
  readonly streams = new Map<number, StreamLedger>()
  readonly requests = new Map<number, KnownRequest>()
  /** Unacknowledged requests, each with the highest lamport timestamp that was known when it was sent. */
  readonly sent = new Map<number, number>()
  /** Redactions of this life: acknowledged, and not acknowledged. */
  readonly redacted: Redaction[] = []
  readonly redacting: Redaction[] = []
  settling = false
  #lamport = -1
  #events: { id: number; events: SentEvent[] }[] = []

  constructor(seed: string) {
    this.seed = seed
  }

  get events(): number {
    return this.streams.values().reduce((sum, { places }) => sum + places.size, 0)
  }

  stream(number: number): StreamLedger {
    const known = this.streams.get(number)
    if (known !== undefined) return known
    const stream = new StreamLedger()
    this.streams.set(number, stream)
    return stream
  }

  /** The events of a request, generated again, with a small cache. */
  eventsOf(id: number): readonly SentEvent[] {
    const known = this.#events.find((request) => request.id === id)
    if (known !== undefined) return known.events
    const events = eventsOf(this.seed, id)
    this.#events = [{ id, events }, ...this.#events.slice(0, 7)]
    return events
  }

  take(report: Report, problems: Problems): void {
    switch (report.type) {
      case 'appending':
        this.sent.set(report.id, this.#lamport)
        break
      case 'appended':
        this.#appended(report, problems)
        break
      case 'pruning':
        this.stream(report.stream).pruning = report.count
        break
      case 'pruned':
        this.stream(report.stream).pruning = 0
        this.stream(report.stream).prune(report.count)
        break
      case 'redacting':
        this.redacting.push(report)
        break
      case 'redacted':
        this.redacting.pop()
        this.redacted.push(report)
        break
      case 'settling':
      case 'settled':
        this.settling = report.type === 'settling'
        break
      case 'failed':
        problems.add('failed', report.what)
        break
    }
  }

  /** Records a stored request with the offsets of its events. */
  place(request: KnownRequest, problems: Problems): void {
    this.requests.set(request.id, request)
    for (const [index, { stream: number }] of this.eventsOf(request.id).entries()) {
      const offset = request.offsets[index]
      const stream = this.stream(number)
      if (offset === undefined || offset < stream.pruned) continue
      const before = stream.places.get(offset)
      if (before !== undefined)
        problems.add('doubled', `${name(number, offset)} is that of ${before.request.id} and of ${request.id}`)
      stream.places.set(offset, { request, index })
      stream.count = Math.max(stream.count, offset + 1)
    }
    this.#lamport = Math.max(this.#lamport, request.lamport + request.offsets.length - 1)
  }

  /** Called after the check at the end of a life: requests that were not stored by then must never appear. */
  endOfLife(): void {
    this.sent.clear()
    this.redacted.length = 0
    this.redacting.length = 0
    this.settling = false
    for (const stream of this.streams.values()) {
      stream.pruning = 0
      stream.checked = stream.count
    }
  }

  #appended({ id, lamport, time, runs }: Report & { type: 'appended' }, problems: Problems): void {
    const sentAt = this.sent.get(id)
    this.sent.delete(id)
    if (sentAt === undefined || this.requests.has(id)) problems.add('doubled', `request ${id} was answered twice`)
    else if (lamport <= sentAt)
      problems.add('reordered', `request ${id} has lamport ${lamport}, but ${sentAt} was answered before it was sent`)
    const answered = runs.flatMap(([stream, offset, count]) =>
      Array.from({ length: count }, (_, i) => ({ stream, offset: offset + i })),
    )
    const events = this.eventsOf(id)
    if (answered.length !== events.length || events.some(({ stream }, i) => answered[i]?.stream !== stream))
      problems.add('reordered', `the answer to request ${id} is that of another one`)
    this.place({ id, lamport, time, offsets: answered.map(({ offset }) => offset) }, problems)
  }
}

export function name(stream: number, offset: number): string {
  return `event ${offset} of stream ${stream}`
}
