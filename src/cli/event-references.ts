import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { formatStreamId, parseStreamId } from '../identity/index.ts'

/** A set of events, as offsets by stream ID. */
export class EventSet {
  readonly #offsets = new Map<string, Set<number>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  get streams(): string[] {
    return [...this.#offsets.keys()].sort()
  }

  /** The offsets of a stream, ascending. */
  of(stream: string): number[] {
    return [...(this.#offsets.get(stream) ?? [])].sort((a, b) => a - b)
  }

  add(stream: string, offset: number): void {
    const offsets = this.#offsets.get(stream) ?? new Set()
    this.#offsets.set(stream, offsets)
    if (offsets.has(offset)) return
    const most = limits.redactedPerCommand
    if (this.#size >= most)
      throw new ShoalError('ERR_INVALID_INPUT', `More than ${most} events at once. Allowed: up to ${most}.`)
    offsets.add(offset)
    this.#size++
  }

  /** The events of those streams whose ID the condition accepts. */
  filter(isWanted: (stream: string) => boolean): EventSet {
    const wanted = new EventSet()
    for (const [stream, offsets] of this.#offsets)
      if (isWanted(stream)) for (const offset of offsets) wanted.add(stream, offset)
    return wanted
  }
}

/** Consecutive offsets of a stream. */
export interface EventRange {
  readonly stream: string
  readonly first: number
  readonly last: number
}

/** Ascending offsets as ranges. */
export function rangesOf(stream: string, offsets: readonly number[]): EventRange[] {
  const ranges: { stream: string; first: number; last: number }[] = []
  for (const offset of offsets) {
    const range = ranges.at(-1)
    if (range !== undefined && range.last === offset - 1) range.last = offset
    else ranges.push({ stream, first: offset, last: offset })
  }
  return ranges
}

export function rangeText({ stream, first, last }: EventRange): string {
  return `${stream}/${first}${last === first ? '' : `-${last}`}`
}

// The ID of a node may contain slashes, but no hyphen.
const pattern = /^([^-]+-\d+)\/(\d{1,15})(?:-(\d{1,15}))?$/

/** Whether an argument is an event rather than the address of a node. */
export function isEventReference(text: string): boolean {
  return pattern.test(text)
}

/** Parses arguments that name events. */
export function referencedEvents(words: readonly string[]): EventSet {
  const events = new EventSet()
  for (const word of words) {
    const [, id = '', first = '', last = first] = pattern.exec(word) ?? []
    const [from, to] = [Number(first), Number(last)]
    if (id === '' || to < from)
      throw new ShoalError(
        'ERR_INVALID_INPUT',
        `'${word}' is not an event. Allowed: <stream ID>/<offset>, or <stream ID>/<first offset>-<last offset>.`,
      )
    const stream = formatStreamId(parseStreamId(id))
    for (let offset = from; offset <= to; offset++) events.add(stream, offset)
  }
  return events
}
