import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { KeyPair, nodeIdOf } from '../../../src/identity/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../../src/store/memory/memory-event-store.ts'
import { LogReader, LogWriter } from '../../../src/store/sqlite/index.ts'
import { packed } from '../../support/events.ts'

/** An event in the reference implementation. */
export interface PlainEvent {
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  readonly tags: readonly string[]
  readonly payload: number
}

export interface Batch {
  readonly count: number
  readonly tag: 'a' | 'b'
}

/** A request of this node: its events are spread over `streams` streams, round-robin from `first`. */
export interface OwnBatch extends Batch {
  readonly streams: number
  readonly first: number
}

/** The chunks of the only stream of another node. All start at offset 0, and each is longer than the one before. */
export interface OtherNode {
  readonly stream: string
  readonly chunks: readonly Uint8Array[]
  /** Number of events in each chunk. */
  readonly counts: readonly number[]
  readonly events: readonly PlainEvent[]
}

const topic = 'order'
const now = (): number => 1_700_000_000_000_000

function request(events: readonly PlainEvent[]): Parameters<LogWriter['append']>[0][number] {
  const list = events.map(({ tags, payload }) => ({ appId: 'com.example.a', tags, payload: String(payload) }))
  return { ...packed(list), streams: Uint32Array.from(events, ({ stream }) => Number(stream.split('-')[1])) }
}

/** Assigns streams and offsets to the events of batches. */
class Writing {
  readonly #node: string
  readonly #counts = new Map<string, number>()

  constructor(node: string) {
    this.#node = node
  }

  add(lamport: number, { count, tag, streams, first }: OwnBatch): PlainEvent[] {
    return Array.from({ length: count }, (_, i) => {
      const stream = `${this.#node}-${(first + i) % streams}`
      const offset = this.#counts.get(stream) ?? 0
      this.#counts.set(stream, offset + 1)
      return { lamport: lamport + i, stream, offset, tags: [tag], payload: offset }
    })
  }
}

/** Another node that writes batches. */
export async function otherNode(seed: number, batches: readonly Batch[]): Promise<OtherNode> {
  const key = new KeyPair(Buffer.alloc(32, `node ${seed}`))
  const store = new MemoryEventStore({ runtime: systemRuntime, topic, kind: 'live', key, now })
  const writing = new Writing(nodeIdOf(key.publicKey))
  const chunks: Uint8Array[] = []
  const counts: number[] = []
  const events: PlainEvent[] = []
  for (const batch of batches) {
    const added = writing.add(events.length, { ...batch, streams: 1, first: 0 })
    await store.append(request(added))
    events.push(...added)
    chunks.push((await store.chunk(0, 0)) as Uint8Array)
    counts.push(events.length)
  }
  await store.close()
  return { stream: events[0]?.stream as string, chunks, counts, events }
}

/** The log of this node, and all events in order of arrival. */
export class World {
  readonly reader: LogReader
  readonly arrived: PlainEvent[] = []
  readonly #file: string
  readonly #writer: LogWriter
  readonly #own: Writing
  readonly #received = new Map<string, number>()

  constructor(folder: string, number: number) {
    const file = join(folder, `${number}.db`)
    this.#file = file
    const key = new KeyPair(Buffer.alloc(32, 'this node'))
    this.#own = new Writing(nodeIdOf(key.publicKey))
    this.#writer = new LogWriter({ file, topic, kind: 'live', key, now, random: systemRandom })
    this.reader = new LogReader(file, this.#writer.counts, key.publicKey, systemClock)
  }

  publish(batch: OwnBatch): void {
    const planned = this.#own.add(0, batch)
    const [appended] = this.#writer.append([request(planned)])
    this.arrived.push(...planned.map((event, i) => ({ ...event, lamport: (appended?.lamport ?? 0) + i })))
  }

  /** Receives the events of another node up to one of its batches. */
  receive({ stream, chunks, counts, events }: OtherNode, upTo: number): void {
    const have = this.#received.get(stream) ?? 0
    const count = counts[upTo] as number
    if (count <= have) return
    this.#writer.receive(chunks[upTo] as Uint8Array)
    this.arrived.push(...events.slice(have, count))
    this.#received.set(stream, count)
  }

  close(): void {
    this.reader.close()
    this.#writer.close()
    rmSync(this.#file)
  }
}
