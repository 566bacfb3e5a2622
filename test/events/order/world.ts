import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { KeyPair, nodeIdOf } from '../../../src/identity/index.ts'
import { LogReader, LogWriter } from '../../../src/store/log/index.ts'
import { MemoryEventStore } from '../../../src/store/memory/memory-event-store.ts'
import { packed } from '../../support/events.ts'

/** An event as the naive definition sees it. */
export interface PlainEvent {
  readonly lamport: number
  readonly node: string
  readonly offset: number
  readonly tags: readonly string[]
  readonly payload: number
}

export interface Batch {
  readonly count: number
  readonly tag: 'a' | 'b'
}

/** What another node has written: chunks that begin at its start, each with more than the one before. */
export interface OtherNode {
  readonly name: string
  readonly chunks: readonly Uint8Array[]
  /** How many events each chunk has. */
  readonly counts: readonly number[]
  readonly events: readonly PlainEvent[]
}

const topic = 'order'
const now = (): number => 1_700_000_000_000_000

function request(events: readonly PlainEvent[]): Parameters<LogWriter['append']>[0][number] {
  const list = events.map(({ tags, payload }) => ({ appId: 'com.example.a', tags, payload: String(payload) }))
  return { ...packed(list), streams: new Uint32Array(events.length) }
}

function eventsOf(node: string, lamport: number, offset: number, { count, tag }: Batch): PlainEvent[] {
  return Array.from({ length: count }, (_, i) => ({
    lamport: lamport + i,
    node,
    offset: offset + i,
    tags: [tag],
    payload: offset + i,
  }))
}

/** Lets another node write batches, with pauses in which its clock goes on. */
export async function otherNode(seed: number, batches: readonly Batch[]): Promise<OtherNode> {
  const key = new KeyPair(Buffer.alloc(32, `node ${seed}`))
  const store = new MemoryEventStore({ topic, kind: 'live', key, now })
  const name = nodeIdOf(key.publicKey)
  const chunks: Uint8Array[] = []
  const counts: number[] = []
  const events: PlainEvent[] = []
  for (const batch of batches) {
    const added = eventsOf(name, events.length, events.length, batch)
    await store.append(request(added))
    events.push(...added)
    chunks.push((await store.chunk(0, 0)) as Uint8Array)
    counts.push(events.length)
  }
  await store.close()
  return { name, chunks, counts, events }
}

/** The log of this node, and everything that has come to it in the order in which it came. */
export class World {
  readonly reader: LogReader
  readonly name: string
  readonly arrived: PlainEvent[] = []
  readonly #file: string
  readonly #writer: LogWriter
  #own = 0
  readonly #received = new Map<string, number>()

  constructor(folder: string, number: number) {
    const file = join(folder, `${number}.db`)
    this.#file = file
    const key = new KeyPair(Buffer.alloc(32, 'this node'))
    this.name = nodeIdOf(key.publicKey)
    this.#writer = new LogWriter({ file, topic, kind: 'live', key, now })
    this.reader = new LogReader(file, this.#writer.counts, key.publicKey)
  }

  publish(batch: Batch): void {
    const planned = eventsOf(this.name, 0, this.#own, batch)
    const [appended] = this.#writer.append([request(planned)])
    this.arrived.push(...planned.map((event, i) => ({ ...event, lamport: (appended?.lamport ?? 0) + i })))
    this.#own += batch.count
  }

  /** Receives what another node had written up to one of its batches. */
  receive({ name, chunks, counts, events }: OtherNode, upTo: number): void {
    const have = this.#received.get(name) ?? 0
    const count = counts[upTo] as number
    if (count <= have) return
    this.#writer.receive(chunks[upTo] as Uint8Array)
    this.arrived.push(...events.slice(have, count))
    this.#received.set(name, count)
  }

  takeGrown(): Set<number> {
    return new Set(this.#writer.takeGrown())
  }

  close(): void {
    this.reader.close()
    this.#writer.close()
    rmSync(this.#file)
  }
}
