import { ByteReader, type Frame, randomSeed, readFrame } from '../../protocol/index.ts'
import {
  checkImport,
  type EventOrigin,
  type Imported,
  type ImportRequest,
  importedFrames,
  nameOfOrigin,
  planImport,
} from '../../replication/index.ts'
import type { Random } from '../../runtime/random.ts'
import type { MemoryAppender } from './memory-appender.ts'
import type { MemoryStreams } from './memory-streams.ts'

/** Imports the events of dumps, each event once. */
export class MemoryImporter {
  readonly #streams: MemoryStreams
  readonly #appender: MemoryAppender
  readonly #random: Random
  /** Which events were imported. */
  readonly #origins = new Set<string>()

  constructor(streams: MemoryStreams, appender: MemoryAppender, random: Random) {
    this.#streams = streams
    this.#appender = appender
    this.#random = random
  }

  import(request: ImportRequest): Imported {
    const { context, clock, all } = this.#streams
    checkImport(request, context)
    const plans = planImport(request, (origin) => this.#origins.has(nameOfOrigin(origin)), context)
    if (plans.length === 0) return { added: 0 }
    let next = all.length
    // All streams are created before any change, because that throws when there is no room.
    const targets = plans.map((plan) => ({
      plan,
      stream: this.#streams.find(plan.stream) ?? this.#streams.create(plan.stream, undefined, next++),
    }))
    const lamport = clock.take(request.origins.length)
    const seed = (): Uint8Array => randomSeed(this.#random)
    const frameOf = ({ record }: { readonly record: Buffer }): Frame => readFrame(new ByteReader(record))
    for (const { plan, stream } of targets) {
      const made = [...importedFrames(request, plan, stream.position.count, lamport, seed)]
      this.#appender.add(stream, made.map(frameOf))
      for (const i of plan.events) this.#origins.add(nameOfOrigin(request.origins[i] as EventOrigin))
    }
    return { added: plans.reduce((sum, { events }) => sum + events.length, 0) }
  }
}
