// Appends to a store from many concurrent callers, seals, prunes, redacts and reads, until it is killed. It reports
// each operation, and its acknowledgement, through a pipe that outlives it.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../src/base/errors.ts'
import { parsePrivateKey } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import type { StreamStatus } from '../../src/store/port/index.ts'
import { SqliteEventStore } from '../../src/store/threads/sqlite-event-store.ts'
import { eventsOf, firstHeavy, requestsPerLife, streams, toRequest } from './contents.ts'
import { type Job, type RunText, say } from './messages.ts'
import { Random } from './random.ts'

/** The number of events at which a stream is pruned, and how many are kept: a round has to stay short. */
const manyEvents = 20_000
const keptEvents = 4000
/** Requests of a caller before a pause, and its duration, in which the store begins to seal. */
const requestsBeforePause = 4
const pauseMs = 220

class Victim {
  readonly #job: Job
  readonly #store: SqliteEventStore
  readonly #random: Random
  /** The streams at the start of this life. */
  readonly #atStart: readonly StreamStatus[]
  /** Some events that were appended in this life. */
  readonly #recent: { stream: number; offset: number }[] = []
  #nextRequest: number

  constructor(job: Job, store: SqliteEventStore, atStart: readonly StreamStatus[]) {
    this.#job = job
    this.#store = store
    this.#atStart = atStart
    this.#random = new Random(`${job.seed}/life/${job.life}`)
    this.#nextRequest = job.life * requestsPerLife + (job.mood === 'heavy' ? firstHeavy : 0)
  }

  async run(): Promise<void> {
    const { callers, mood } = this.#job
    const appending = Array.from({ length: callers }, () =>
      this.#appendAll(mood === 'quiet' ? requestsBeforePause : Infinity),
    )
    if (mood === 'quiet') {
      await Promise.all(appending)
      await sleep(pauseMs + this.#random.below(100))
    }
    const others =
      mood === 'mixed'
        ? [this.#again(() => this.#prune(), 80), this.#again(() => this.#settle(), 160), this.#readAll()]
        : []
    await Promise.all([...appending, this.#again(() => this.#redact(), 40), ...others])
  }

  async #again(work: () => Promise<void>, pauseMs: number): Promise<void> {
    while (true) {
      await sleep(this.#random.below(pauseMs))
      await work()
    }
  }

  async #appendAll(requests: number): Promise<void> {
    for (let i = 0; i < requests; i++) {
      const id = this.#nextRequest++
      const events = eventsOf(this.#job.seed, id)
      say({ type: 'appending', id })
      const { lamport, time, runs } = await this.#store.append(toRequest(events))
      const texts = runs.map(({ stream, offset, count }): RunText => [stream, offset, count])
      say({ type: 'appended', id, lamport, time, runs: texts })
      this.#remember(texts)
    }
  }

  #remember(runs: readonly RunText[]): void {
    const [stream, offset, count] = runs[this.#random.below(runs.length)] as RunText
    const place = { stream, offset: offset + this.#random.below(count) }
    if (this.#recent.length < 32) this.#recent.push(place)
    else this.#recent[this.#random.below(32)] = place
  }

  async #redact(): Promise<void> {
    const place = this.#random.chance(0.7) ? this.#recentPlace() : this.#oldPlace()
    if (place === undefined) return
    say({ type: 'redacting', ...place })
    await this.#store.redact(place.stream, [place.offset])
    say({ type: 'redacted', ...place })
  }

  #recentPlace(): { stream: number; offset: number } | undefined {
    return this.#recent.splice(this.#random.below(this.#recent.length), 1)[0]
  }

  #oldPlace(): { stream: number; offset: number } | undefined {
    const status = this.#atStart[this.#random.below(this.#atStart.length)]
    if (status === undefined || status.count === status.pruned) return undefined
    const offset = status.pruned + this.#random.below(status.count - status.pruned)
    return { stream: status.key.number, offset }
  }

  async #prune(): Promise<void> {
    const stream = this.#random.pick(streams)
    const status = (await this.#store.streams()).find(({ key }) => key.number === stream)
    if (status === undefined) return
    const counts = (await this.#store.checkpoints(status.number)).map(({ count }) => count)
    const later = counts.filter((count) => count > status.pruned)
    const many = status.count - status.pruned > manyEvents
    const count = many
      ? later.findLast((count) => status.count - count >= keptEvents)
      : later[this.#random.below(Math.min(2, later.length))]
    if (count === undefined) return
    say({ type: 'pruning', stream, count })
    await this.#store.prune(stream, count)
    say({ type: 'pruned', stream, count })
  }

  async #settle(): Promise<void> {
    say({ type: 'settling' })
    await this.#store.settle()
    say({ type: 'settled' })
  }

  /** Reads continuously, to test writes concurrent with readers. */
  async #readAll(): Promise<void> {
    while (true) {
      let pieces = 1 + this.#random.below(10)
      const order = this.#random.chance(0.5) ? 'asc' : 'desc'
      for await (const _ of this.#store.read({ anyOf: [{ tags: ['i:7'] }], order })) if (--pieces === 0) break
      await sleep(this.#random.below(20))
    }
  }
}

async function open({ file, topic, privateKey }: Job): Promise<SqliteEventStore> {
  return await SqliteEventStore.open({
    runtime: systemRuntime,
    file,
    topic,
    kind: 'live',
    key: parsePrivateKey(privateKey),
  })
}

async function live(job: Job): Promise<void> {
  const store = await open(job)
  const atStart = await store.streams()
  say({ type: 'open' })
  if (job.idle === true) await store.close()
  else await new Victim(job, store, atStart).run()
}

// The parent process has ended, or asks for a normal exit.
process.stdin.once('end', () => process.exit(0))
const [line] = (await once(createInterface(process.stdin), 'line')) as [string]
try {
  await live(JSON.parse(line) as Job)
} catch (error) {
  say({ type: 'failed', what: messageOf(error) })
}
