import { type AqlEvent, compareEventKeys, type EventKey } from './event.ts'

/** The provenance of a value: none, one event, or several. */
export type Metadata = AqlEvent | Span | undefined

/** The metadata of several events: the range of their keys and times. */
export class Span {
  readonly first: KeyWithOffset
  readonly last: KeyWithOffset
  readonly earliest: number
  readonly latest: number

  constructor(first: KeyWithOffset, last: KeyWithOffset, earliest: number, latest: number) {
    this.first = first
    this.last = last
    this.earliest = earliest
    this.latest = latest
  }
}

export type KeyWithOffset = EventKey & Pick<AqlEvent, 'offset'>

export function merge(a: Metadata, b: Metadata): Metadata {
  if (a === b || b === undefined) return a
  if (a === undefined) return b
  if (!(a instanceof Span || b instanceof Span) && compareEventKeys(a, b) === 0 && a.time === b.time) return a
  return new Span(
    compareEventKeys(firstOf(a), firstOf(b)) <= 0 ? firstOf(a) : firstOf(b),
    compareEventKeys(lastOf(a), lastOf(b)) >= 0 ? lastOf(a) : lastOf(b),
    Math.min(earliestOf(a), earliestOf(b)),
    Math.max(latestOf(a), latestOf(b)),
  )
}

/** Accumulates the merged metadata of many values without allocating per value. */
export class MetadataSum {
  /** The event, as long as all values came from the same one. */
  #only: AqlEvent | undefined
  #first: KeyWithOffset | undefined
  #last: KeyWithOffset | undefined
  #earliest = Number.POSITIVE_INFINITY
  #latest = Number.NEGATIVE_INFINITY

  add(metadata: Metadata): void {
    if (metadata === undefined || metadata === this.#only) return
    if (metadata instanceof Span) {
      this.#only = undefined
      this.#extend(metadata.first, metadata.earliest)
      this.#extend(metadata.last, metadata.latest)
      return
    }
    if (this.#first === undefined) this.#only = metadata
    else if (this.#only !== undefined && merge(this.#only, metadata) !== this.#only) this.#only = undefined
    this.#extend(metadata, metadata.time)
  }

  #extend(key: KeyWithOffset, time: number): void {
    // Events mostly arrive in ascending order.
    if (this.#last === undefined || compareEventKeys(key, this.#last) > 0) this.#last = key
    if (this.#first === undefined || compareEventKeys(key, this.#first) < 0) this.#first = key
    if (time < this.#earliest) this.#earliest = time
    if (time > this.#latest) this.#latest = time
  }

  get metadata(): Metadata {
    if (this.#only !== undefined || this.#first === undefined || this.#last === undefined) return this.#only
    return new Span(this.#first, this.#last, this.#earliest, this.#latest)
  }
}

export function firstOf(metadata: AqlEvent | Span): KeyWithOffset {
  return metadata instanceof Span ? metadata.first : metadata
}

export function lastOf(metadata: AqlEvent | Span): KeyWithOffset {
  return metadata instanceof Span ? metadata.last : metadata
}

function earliestOf(metadata: AqlEvent | Span): number {
  return metadata instanceof Span ? metadata.earliest : metadata.time
}

function latestOf(metadata: AqlEvent | Span): number {
  return metadata instanceof Span ? metadata.latest : metadata.time
}

export function sameMetadata(a: Metadata, b: Metadata): boolean {
  if (a === b) return true
  if (a === undefined || b === undefined || a instanceof Span !== b instanceof Span) return false
  return (
    compareEventKeys(firstOf(a), firstOf(b)) === 0 &&
    compareEventKeys(lastOf(a), lastOf(b)) === 0 &&
    earliestOf(a) === earliestOf(b) &&
    latestOf(a) === latestOf(b)
  )
}
