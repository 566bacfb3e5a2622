import { tuning } from '../../base/tuning.ts'
import { compareEvents, type OrderedEvent } from '../../replication/index.ts'
import { release } from '../../runtime/buffers.ts'
import type { Reading } from '../event-store.ts'
import type { Branch, Order, Selection } from '../sqlite/index.ts'
import type { MemoryEvent, MemoryStream } from './memory-stream.ts'

interface Found {
  readonly stream: MemoryStream
  readonly event: MemoryEvent
}

/** The selected events of some streams as they are now; those that are removed while they are read are left out. */
export class MemoryReading implements Reading {
  readonly started = Promise.resolve()
  readonly #end = Promise.withResolvers<void>()
  readonly ended = this.#end.promise
  readonly #found: readonly Found[]
  readonly #check: () => void
  #cancelled = false
  #failure: Error | undefined

  /** Before each piece `check` is called, which throws when nothing can be read any more. */
  constructor(streams: readonly MemoryStream[], selection: Selection, check: () => void) {
    this.#found = streams
      .flatMap((stream) => eventsWithin(stream, selection).map((event) => ({ stream, event })))
      .filter(({ stream, event }) => selection.anyOf.some((branch) => holds(branch, stream, event)))
      .sort(comparison[selection.order])
    this.#check = check
  }

  giveBack(piece: Uint8Array): void {
    release(piece)
  }

  cancel(): void {
    this.#cancelled = true
    this.#end.resolve()
  }

  fail(error: Error): void {
    this.#failure = error
    this.#end.resolve()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    try {
      yield* this.#pieces()
    } finally {
      this.cancel()
    }
  }

  *#pieces(): Generator<Buffer> {
    let at = 0
    while (!this.#cancelled) {
      if (this.#failure !== undefined) throw this.#failure
      this.#check()
      const lines: Buffer[] = []
      let size = 0
      for (; at < this.#found.length && size < tuning.pieceBytes; at++) {
        const line = lineOf(this.#found[at] as Found)
        if (line === undefined) continue
        lines.push(line)
        size += line.length
      }
      if (size === 0) return
      yield Buffer.concat(lines)
    }
  }
}

function eventsWithin({ events, number, position }: MemoryStream, { lower, upper }: Selection): MemoryEvent[] {
  const after = lower?.get(number) ?? -1
  const last = upper === undefined ? position.count - 1 : (upper.get(number) ?? -1)
  return [...events.values()].filter(({ offset }) => offset > after && offset <= last)
}

function holds({ tags, appId, own }: Branch, stream: MemoryStream, { labels }: MemoryEvent): boolean {
  return (
    (own === undefined || own === stream.position.own) &&
    (appId === undefined || appId === labels.appId) &&
    tags.every((tag) => labels.tags.includes(tag))
  )
}

function placeOf({ stream, event }: Found): OrderedEvent {
  return { lamport: event.lamport, stream: stream.position }
}

function inTotalOrder(a: Found, b: Found): number {
  return compareEvents(placeOf(a), placeOf(b))
}

const comparison: Record<Order, (a: Found, b: Found) => number> = {
  asc: inTotalOrder,
  desc: (a, b) => inTotalOrder(b, a),
  'stream-asc': (a, b) => a.stream.number - b.stream.number || a.event.offset - b.event.offset,
}

function lineOf({ stream, event }: Found): Buffer | undefined {
  const { offset, lamport, time, labels } = event
  const present = stream.events.get(offset)
  if (present === undefined) return undefined
  const head = `{"type":"event","lamport":${lamport},"stream":"${stream.id}","offset":${offset},"timestamp":${time}`
  return Buffer.concat([
    Buffer.from(`${head},"tags":${JSON.stringify(labels.tags)},"appId":${JSON.stringify(labels.appId)},"payload":`),
    present.payload,
    Buffer.from('}\n'),
  ])
}
