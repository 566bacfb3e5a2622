import { messageOf } from '../../src/base/errors.ts'
import type { KeyPair } from '../../src/identity/index.ts'
import { heads } from '../../src/protocol/index.ts'
import { nowMicros, systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { ReadStream } from '../../src/store/port/index.ts'
import { LogReader, LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { rowKey } from '../../src/store/sqlite/rows/row-key.ts'
import { markOf, originOf, streams as sentStreams, tagOf } from './contents.ts'
import { type KnownRequest, type Ledger, name, type Redaction, type StreamLedger } from './ledger.ts'
import { findLeftovers } from './leftovers.ts'
import { Problems } from './problems.ts'
import type { Random } from './random.ts'
import { type Found, nameOf, readEvent, readEvents } from './reading.ts'

export interface CheckOptions {
  /** The store, or a copy of its files: opening it modifies it. */
  readonly file: string
  readonly topic: string
  readonly key: KeyPair
  readonly ledger: Ledger
  /** Reads every event and every byte; otherwise only new events and removals. */
  readonly full: boolean
  /** Seals everything first. */
  readonly seal?: boolean
  readonly random: Random
}

/** The result of a check. */
export interface Checked {
  readonly problems: Problems
  /** Compared events. */
  readonly events: number
  readonly segments: number
  /** Requests that are stored although they were not acknowledged. */
  readonly unanswered: number
  /** Complete unsealed chunks of the stream that has most of them. */
  readonly unsealedChunks: number
}

/** The number of requests that are queried by tag. */
const lookups = 3

/** Compares a store with the ledger. Unacknowledged requests that are stored are added to it: they have to stay. */
export function check(options: CheckOptions): Checked {
  const { file, topic, key, ledger, full, seal } = options
  const problems = new Problems()
  // Before the store is opened, because opening may clean up.
  const before = findLeftovers(file)
  let result: Omit<Checked, 'problems'> = { events: 0, segments: 0, unanswered: 0, unsealedChunks: 0 }
  try {
    const writer = new LogWriter({ file, topic, kind: 'live', key, now: nowMicros, random: systemRandom })
    const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
    try {
      if (seal === true) writer.sealAll()
      result = new Check(options, writer, reader, problems).run()
    } finally {
      reader.close()
      writer.close()
    }
    if (full) for (const problem of verifyLog(file).problems) problems.add('verify', problem)
  } catch (error) {
    problems.add('unreadable', messageOf(error))
  }
  reportLeftovers(before, ledger, problems, true)
  // Opening the store has completed interrupted redactions.
  reportLeftovers(findLeftovers(file), ledger, problems, false)
  ledger.endOfLife()
  return { problems, ...result }
}

/** Reports redacted payloads whose bytes are still in the files: of acknowledged redactions only, or of all. */
function reportLeftovers(
  leftovers: ReadonlySet<string>,
  ledger: Ledger,
  problems: Problems,
  onlyAnswered: boolean,
): void {
  const when = onlyAnswered ? '' : ' after it was opened again'
  for (const [number, { removed, places }] of ledger.streams)
    for (const [offset, answered] of removed) {
      const place = places.get(offset)
      if (place === undefined || (onlyAnswered && !answered)) continue
      if (leftovers.has(markOf(place.request.id, place.index)))
        problems.add('left', `the payload of ${name(number, offset)}${when}`)
    }
}

/** An unacknowledged request that was found in the store. */
interface Unanswered {
  readonly lamport: number
  readonly time: number
  readonly offsets: (number | undefined)[]
}

class Check {
  readonly #options: CheckOptions
  readonly #ledger: Ledger
  readonly #writer: LogWriter
  readonly #reader: LogReader
  readonly #problems: Problems
  readonly #unanswered = new Map<number, Unanswered>()
  /** The lamport timestamp of the last pruned event, by stream. */
  readonly #prunedLamport = new Map<number, number>()
  #events = 0

  constructor(options: CheckOptions, writer: LogWriter, reader: LogReader, problems: Problems) {
    this.#options = options
    this.#ledger = options.ledger
    this.#writer = writer
    this.#reader = reader
    this.#problems = problems
  }

  run(): Omit<Checked, 'problems'> {
    this.#format()
    const status = this.#reader.status()
    for (const stream of this.#ledger.streams.keys())
      if (!status.some(({ key }) => key.number === stream)) this.#counts(stream, undefined, 0, 0)
    for (const { key, own, number, count, pruned } of status)
      if (!own || !(sentStreams as readonly number[]).includes(key.number))
        this.#problems.add('unexpected', `there is a stream ${key.number} that was not written to`)
      else this.#counts(key.number, number, count, pruned)
    const { redacted, redacting } = this.#ledger
    for (const redaction of redacted) this.#redaction(redaction, true)
    for (const redaction of redacting) this.#redaction(redaction, false)
    this.#scan(status)
    for (const [id, request] of this.#unanswered) this.#addToLedger(id, request)
    for (let i = 0; i < lookups; i++) this.#lookUp()
    const { segments, unsealedChunks } = this.#sealed()
    return { events: this.#events, segments, unanswered: this.#unanswered.size, unsealedChunks }
  }

  /** Checks settings that are fixed when the database is created. */
  #format(): void {
    const value = (pragma: string): unknown => this.#writer.database.prepare(`PRAGMA ${pragma}`).get()?.[pragma]
    if (value('auto_vacuum') !== 2 || value('journal_mode') !== 'wal')
      this.#problems.add('verify', 'the database was made without incremental vacuum or write-ahead log')
  }

  /** Compares number of events and pruned events of a stream. */
  #counts(number: number, internal: number | undefined, count: number, pruned: number): void {
    const stream = this.#ledger.stream(number)
    if (pruned > 0 && internal !== undefined) this.#checkPruned(number, internal, pruned)
    if (pruned < stream.pruned)
      this.#problems.add('returned', `${stream.pruned - pruned} events of stream ${number}`, stream.pruned - pruned)
    else if (pruned > stream.pruned && pruned !== stream.pruning)
      this.#problems.add('lost', `the start of stream ${number} up to ${pruned}`, pruned - stream.pruned)
    stream.prune(pruned)
    if (count < stream.count)
      this.#problems.add('lost', `the end of stream ${number} from ${count} on`, stream.count - count)
  }

  #checkPruned(number: number, internal: number, pruned: number): void {
    const checkpoint = this.#reader.checkpoints(internal).find(({ count }) => count === pruned)
    if (checkpoint === undefined)
      this.#problems.add('verify', `stream ${number} was pruned up to ${pruned}, and has no head there`)
    else this.#prunedLamport.set(number, heads.verify(checkpoint.head).lamport)
  }

  #redaction({ stream: number, offset }: Redaction, answered: boolean): void {
    const stream = this.#ledger.stream(number)
    if (offset < stream.pruned) return
    const visible = readEvent(this.#reader, number, offset) !== undefined
    if (!visible) stream.removed.set(offset, answered || stream.removed.get(offset) === true)
    else if (answered) this.#problems.add('returned', `the payload of ${name(number, offset)}`)
  }

  /** Reads all streams in the total order: all events, or new ones only. */
  #scan(status: readonly (ReadStream & { readonly count: number })[]): void {
    const next = new Map<number, number>()
    const lower = new Map<number, number>()
    for (const { key, number } of status) {
      const { checked, pruned } = this.#ledger.stream(key.number)
      const from = this.#options.full ? pruned : Math.max(pruned, checked)
      next.set(key.number, from)
      lower.set(number, from - 1)
    }
    let lamport = -1
    readEvents(this.#reader, { anyOf: [{ tags: [] }], order: 'asc', lower }, (found) => {
      this.#events++
      if (found.lamport <= lamport)
        this.#problems.add('reordered', `lamport ${found.lamport} of ${nameOf(found)} comes after ${lamport}`)
      lamport = found.lamport
      this.#missing(found.stream, next.get(found.stream) ?? 0, found.offset)
      next.set(found.stream, found.offset + 1)
      this.#compare(found)
    })
    for (const { key, count } of status) this.#missing(key.number, next.get(key.number) ?? 0, count)
  }

  /** Checks that offsets without an event are redacted. */
  #missing(number: number, from: number, to: number): void {
    const { removed, places, pruned } = this.#ledger.stream(number)
    for (let offset = Math.max(from, pruned); offset < to; offset++)
      if (!removed.has(offset))
        this.#problems.add(places.has(offset) ? 'lost' : 'torn', `${name(number, offset)}: there is a gap`)
  }

  #compare(found: Found): void {
    const stream = this.#ledger.stream(found.stream)
    const origin = originOf(found.payload)
    const place = stream.places.get(found.offset)
    if (stream.removed.has(found.offset)) this.#problems.add('returned', `the payload of ${nameOf(found)}`)
    if (origin === undefined) this.#problems.add('changed', `${nameOf(found)}: ${found.payload.slice(0, 80)}`)
    else if (place === undefined) this.#compareUnanswered(found, origin.id, origin.index, stream)
    else if (origin.id !== place.request.id || origin.index !== place.index)
      this.#elsewhere(found, origin.id, origin.index, place.request, place.index)
    else {
      const { lamport, time } = place.request
      if (found.lamport !== lamport + origin.index || found.time !== time)
        this.#problems.add('reordered', `${nameOf(found)} had lamport ${lamport + origin.index} and time ${time}`)
      this.#compareContents(found, origin.id, origin.index)
    }
  }

  /** Reports an event at an offset that was acknowledged for another one. */
  #elsewhere(found: Found, id: number, index: number, expected: KnownRequest, expectedIndex: number): void {
    const said = `${nameOf(found)} is ${index} of request ${id} instead of ${expectedIndex} of ${expected.id}`
    this.#problems.add(this.#isStillAt(id, index) ? 'doubled' : 'reordered', said)
  }

  /** Whether an event is also at its acknowledged offset. */
  #isStillAt(id: number, index: number): boolean {
    const [offset, event] = [this.#ledger.requests.get(id)?.offsets[index], this.#ledger.eventsOf(id)[index]]
    if (offset === undefined || event === undefined) return false
    return readEvent(this.#reader, event.stream, offset)?.payload === event.payload
  }

  #compareUnanswered(found: Found, id: number, index: number, stream: StreamLedger): void {
    if (this.#ledger.requests.has(id)) {
      this.#problems.add(
        this.#isStillAt(id, index) ? 'doubled' : 'reordered',
        `${nameOf(found)} is ${index} of request ${id}`,
      )
      return
    }
    if (!this.#ledger.sent.has(id) || found.offset < stream.checked) {
      this.#problems.add('unexpected', `${nameOf(found)} is ${index} of request ${id}, which was not under way`)
      return
    }
    const known = this.#unanswered.get(id)
    const request = known ?? { lamport: found.lamport - index, time: found.time, offsets: [] }
    if (known === undefined) this.#unanswered.set(id, request)
    if (request.offsets[index] !== undefined)
      this.#problems.add(
        'doubled',
        `${nameOf(found)} is ${index} of request ${id}, and so is ${request.offsets[index]}`,
      )
    request.offsets[index] = found.offset
    if (found.lamport !== request.lamport + index || found.time !== request.time)
      this.#problems.add('reordered', `${nameOf(found)} has another lamport or time than its request ${id}`)
    this.#compareContents(found, id, index)
  }

  #compareContents(found: Found, id: number, index: number): void {
    const sent = this.#ledger.eventsOf(id)[index]
    const same =
      sent !== undefined &&
      sent.stream === found.stream &&
      sent.payload === found.payload &&
      sent.appId === found.appId &&
      sent.tags.length === found.tags.length &&
      sent.tags.every((tag, i) => tag === found.tags[i])
    if (!same) this.#problems.add('changed', `${nameOf(found)}, ${index} of request ${id}`)
  }

  /** Checks atomicity: an unacknowledged request is stored completely, except for pruned events. */
  #addToLedger(id: number, { lamport, time, offsets }: Unanswered): void {
    const events = this.#ledger.eventsOf(id)
    const missing = events.filter(
      ({ stream }, i) => offsets[i] === undefined && lamport + i > (this.#prunedLamport.get(stream) ?? -1),
    )
    if (missing.length > 0)
      this.#problems.add('torn', `request ${id}: ${missing.length} of ${events.length} events are missing`)
    const sentAt = this.#ledger.sent.get(id) ?? -1
    if (lamport <= sentAt) this.#problems.add('reordered', `request ${id} has a lamport that was taken`)
    const all = events.map((_, i) => offsets[i])
    this.#ledger.place({ id, lamport, time, offsets: all }, this.#problems)
  }

  /** Queries the events of a request by their tag. */
  #lookUp(): void {
    const ids = [...this.#ledger.requests.keys()]
    const request = this.#ledger.requests.get(ids[this.#options.random.below(ids.length)] ?? -1)
    if (request === undefined) return
    const expected = this.#ledger.eventsOf(request.id).flatMap(({ stream: number }, i) => {
      const offset = request.offsets[i]
      const { pruned, removed } = this.#ledger.stream(number)
      return offset === undefined || offset < pruned || removed.has(offset) ? [] : [name(number, offset)]
    })
    const found: string[] = []
    readEvents(this.#reader, { anyOf: [{ tags: [tagOf(request.id)] }], order: 'desc' }, (event) =>
      found.push(nameOf(event)),
    )
    const lost = expected.filter((event) => !found.includes(event))
    if (lost.length > 0) this.#problems.add('lost', `${lost[0]} of request ${request.id}, by its tag`, lost.length)
    if (found.length > expected.length)
      this.#problems.add('unexpected', `more events with the tag of request ${request.id} than it had`)
  }

  #sealed(): { segments: number; unsealedChunks: number } {
    const { database } = this.#writer
    const sealed = database.prepare(
      'SELECT count(*) AS segments, max(key + count) AS last FROM segment WHERE key >= ? AND key < ?',
    )
    const complete = database.prepare('SELECT count(*) AS chunks FROM checkpoint WHERE key > ? AND key < ?')
    const counts = this.#reader.status().map(({ number, pruned }) => {
      const end = rowKey(number + 1, 0)
      const row = sealed.get(rowKey(number, 0), end)
      const last = Math.max(rowKey(number, pruned), Number(row?.['last'] ?? 0))
      return { segments: Number(row?.['segments']), chunks: Number(complete.get(last, end)?.['chunks']) }
    })
    return {
      segments: counts.reduce((sum, { segments }) => sum + segments, 0),
      unsealedChunks: Math.max(0, ...counts.map(({ chunks }) => chunks)),
    }
  }
}
