import { type MessagePort, receiveMessageOnPort, type TransferListItem } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { tuning } from '../../../base/tuning.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { AppendRequest } from '../../port/index.ts'
import { newId } from '../pending-calls.ts'
import {
  copyAll,
  type Letter,
  type Part,
  packRequest,
  requestBytes,
  unpackRequest,
  writeRequest,
} from '../thread-messages.ts'
import { SpinBudget } from './spin-budget.ts'

/**
 * A single-producer, single-consumer ring buffer in shared memory for small requests to the writer: posting a message and
 * waking a thread takes as long as a commit. The writer spins, then blocks in `Atomics.wait` on `bell`. Large or rare
 * requests are posted as messages. Sequence numbers keep the order across both paths.
 *
 * The memory is a ring of cells of 8 bytes. A request stands in cells that follow each other: how many cells it takes, how
 * many bytes it has, the request.
 */
const words = {
  /** Rises whenever there is something to look at. */
  bell: 0,
  /** Where the writer is. */
  place: 1,
  /** Cells that were written and read, ever. */
  written: 2,
  read: 3,
  /** Messages that were sent, ever. */
  messages: 4,
  /** 1 after a request was announced, until one comes, or was watched for in vain. */
  announced: 5,
  /** Requests that were sent, ever, in whatever way. */
  requests: 6,
  /** How often the bell has to have rung before somebody who sleeps is woken up. */
  wanted: 7,
} as const

const places = {
  /** In its event loop, where it only hears messages. */
  away: 0,
  /** Still there, but a message calls it. */
  called: 1,
  here: 2,
} as const

const cellBytes = 8
const headBytes = 64
const cells = tuning.mailboxBytes / cellBytes
/** From so many bytes on a request is announced: to make it takes longer than to wake up. */
export const announcedFrom = 4096
/** How long the bell is watched, in milliseconds, and how long while a request is announced. */
const watchMs = 0.05
const watchAnnouncedMs = 0.4
/** From so many bytes on labels and payloads are copied together: bit by bit out of memory that is shared takes longer. */
const copiedFrom = 4096
/** Stands for the number of bytes where nothing fits before the end of the ring. */
const filler = -1

const nothing: AppendRequest = {
  source: Buffer.alloc(0),
  spans: new Int32Array(0),
  streams: new Uint32Array(0),
}

/** What is sent as a message. */
export interface Numbered {
  readonly id: number
}

export function newMailbox(): SharedArrayBuffer {
  return new SharedArrayBuffer(headBytes + tuning.mailboxBytes)
}

/** The memory of a mailbox, as both sides see it. */
class Ring {
  readonly words: Int32Array
  readonly bytes: Buffer<SharedArrayBuffer>
  readonly memory: SharedArrayBuffer

  constructor(memory: SharedArrayBuffer) {
    assert(memory.byteLength === headBytes + tuning.mailboxBytes, 'a mailbox has its size')
    assert(Number.isInteger(Math.log2(cells)), 'places in the ring are found by the last bits of a number')
    this.memory = memory
    this.words = new Int32Array(memory)
    this.bytes = Buffer.from(memory)
  }

  load(word: number): number {
    return Atomics.load(this.words, word)
  }

  store(word: number, value: number): void {
    Atomics.store(this.words, word, value)
  }

  ringBell(): void {
    const rung = (Atomics.add(this.words, words.bell, 1) + 1) | 0
    if (((rung - this.load(words.wanted)) | 0) >= 0) Atomics.notify(this.words, words.bell)
  }

  /** Rings the bell for somebody who is not to sleep any longer, whatever is wanted. */
  wake(): void {
    Atomics.add(this.words, words.bell, 1)
    Atomics.notify(this.words, words.bell)
  }

  /**
   * Blocks until `bell` has advanced by `more` from `rung`, or until the timeout (a futex wait). Returns at once if `bell` is
   * no longer `rung`.
   */
  sleep(rung: number, more: number, milliseconds: number): void {
    // Before the bell is looked at: whoever rings it afterwards sees this.
    this.store(words.wanted, (rung + more) | 0)
    Atomics.wait(this.words, words.bell, rung, milliseconds)
  }

  /** Where a cell is within the memory, in bytes. */
  at(cell: number): number {
    return headBytes + (cell & (cells - 1)) * cellBytes
  }

  /** How many cells there are from one on until the ring begins anew. */
  toEnd(cell: number): number {
    return cells - (cell & (cells - 1))
  }
}

/** Rings the bell for whoever waits beside a mailbox for something else. */
export function ringBell(memory: SharedArrayBuffer): void {
  new Ring(memory).ringBell()
}

/** What a message goes to: a thread, or a port of it. */
interface Target {
  postMessage(message: unknown, transfer?: readonly TransferListItem[]): void
}

/** The side of whoever sends. There is one of it. */
export class Outbox<M extends Numbered> {
  readonly #ring: Ring
  readonly #target: Target
  /** A request is sent in parts, between which nothing else may be sent. */
  #isInParts = false

  constructor(memory: SharedArrayBuffer, target: Target) {
    this.#ring = new Ring(memory)
    this.#target = target
  }

  /** Sends a request; its number is higher than any before it. */
  append(id: number, request: AppendRequest): void {
    this.#checkTurn()
    this.#append(id, request, 'last')
  }

  /** Wakes the writer up for a request that is being made. It may not come after all. */
  announce(): void {
    this.#ring.store(words.announced, 1)
    this.#call()
  }

  /** Sends a request of which there is a first part so far; nothing else can be sent before its end. */
  appendParts(id: number, first: AppendRequest, rest: Iterator<AppendRequest, AppendRequest>): void {
    this.#checkTurn()
    this.#isInParts = true
    this.#append(id, first, 'more')
    try {
      for (;;) {
        const { value, done } = rest.next()
        this.#append(newId(), value, done === true ? 'last' : 'more')
        if (done === true) return
      }
    } catch (error) {
      this.#append(newId(), nothing, 'givenUp')
      throw error
    } finally {
      this.#isInParts = false
    }
  }

  /** Sends a message; its number is higher than any before it. */
  post(message: M, transfer: readonly TransferListItem[] = []): void {
    this.#checkTurn()
    this.#post(message, transfer)
  }

  #append(id: number, request: AppendRequest, part: Part): void {
    this.#ring.store(words.announced, 0)
    if (this.#put(id, request, part)) {
      this.#count()
      this.#call()
      return
    }
    const memory = packRequest(id, request, part)
    this.#count()
    this.#post(memory, [memory])
  }

  /** Before the bell rings: whoever hears it counts. */
  #count(): void {
    Atomics.add(this.#ring.words, words.requests, 1)
  }

  #checkTurn(): void {
    assert(!this.#isInParts, 'nothing comes between the parts of a request')
  }

  #post(message: unknown, transfer: readonly TransferListItem[]): void {
    this.#target.postMessage(message, transfer)
    // Afterwards: what was counted can be taken.
    Atomics.add(this.#ring.words, words.messages, 1)
    this.#ring.wake()
  }

  #call(): void {
    const ring = this.#ring
    ring.ringBell()
    if (Atomics.compareExchange(ring.words, words.place, places.away, places.called) === places.away)
      this.#target.postMessage(null)
  }

  /** Answers whether there was room for it. */
  #put(id: number, request: AppendRequest, part: Part): boolean {
    const bytes = requestBytes(request)
    if (bytes > tuning.mailboxRequestBytes) return false
    const ring = this.#ring
    const needed = 1 + Math.ceil(bytes / cellBytes)
    const written = ring.load(words.written)
    const rest = ring.toEnd(written)
    const skipped = needed > rest ? rest : 0
    if (((written - ring.load(words.read)) >>> 0) + skipped + needed > cells) return false
    if (skipped > 0) this.#head(written, skipped, filler)
    const start = (written + skipped) | 0
    this.#head(start, needed, bytes)
    writeRequest(ring.bytes, ring.at(start) + cellBytes, id, request, part)
    ring.store(words.written, (start + needed) | 0)
    return true
  }

  #head(cell: number, length: number, bytes: number): void {
    const at = this.#ring.at(cell) / 4
    this.#ring.words[at] = length
    this.#ring.words[at + 1] = bytes
  }
}

/** The side of the thread that receives. */
export class Inbox<M extends Numbered> {
  readonly #ring: Ring
  readonly #port: MessagePort
  /** The cell after what was taken last. */
  #cell = 0
  /** Messages that were taken, ever. */
  #taken = 0
  /** Requests that were taken, ever. */
  #requests = 0
  /** The number of what was taken last. */
  readonly #clock: Clock
  #lastId = 0
  /** Those that were taken before it was their turn. */
  readonly #held: (M | ArrayBuffer)[] = []
  /** How often the bell had rung when somebody looked at everything. */
  #heard = 0
  /** That the bell rings while it is watched, and while it is watched since a request was announced. */
  readonly #spins = new SpinBudget()
  readonly #announcedSpins = new SpinBudget()

  constructor(memory: SharedArrayBuffer, port: MessagePort, clock: Clock) {
    this.#ring = new Ring(memory)
    this.#port = port
    this.#clock = clock
  }

  /** A message has come to the event loop; one that only calls has nothing in it. From here on the bell is heard. */
  enter(message: M | ArrayBuffer | null): void {
    this.#ring.store(words.place, places.here)
    if (message !== null) this.#hold(message)
  }

  /** What is to be done next. Requests stay in the memory, and good, until they are released. */
  next(): Letter | M | undefined {
    const taken = this.#takeNext()
    if (taken === undefined) return undefined
    assert(taken.id > this.#lastId, 'everything is taken in the order in which it was sent')
    this.#lastId = taken.id
    return taken
  }

  #takeNext(): Letter | M | undefined {
    let cell = this.#nextCell()
    // After the look at the ring: messages that were sent before what stands there are counted.
    const message = this.#message()
    // What was sent before that message, but after the look, is there by now.
    if (message !== undefined) cell ??= this.#nextCell()
    const isInMemory = cell !== undefined && (message === undefined || this.#idAt(cell) < idOf(message))
    if (isInMemory || message instanceof ArrayBuffer) this.#requests = (this.#requests + 1) | 0
    if (isInMemory) return this.#take(cell as number)
    this.#held.shift()
    return message instanceof ArrayBuffer ? unpackRequest(message, 0, message.byteLength) : message
  }

  /** Gives the memory of all requests back that were taken. */
  release(): void {
    this.#ring.store(words.read, this.#cell)
  }

  /**
   * Waits for a request with a timeout: spins first if `canWatch`, then blocks. Returns whether there may be work.
   */
  wait(milliseconds: number, canWatch: boolean): boolean {
    if (this.#hasMore) return true
    const ring = this.#ring
    if (!canWatch || !this.#watch()) this.#ring.sleep(this.#heard, 1, milliseconds)
    const heard = ring.load(words.bell)
    const hasRung = heard !== this.#heard
    this.#heard = heard
    return hasRung
  }

  /** Waits until so many requests are here, or something else, or it is so late. */
  gather(requests: number, until: number): void {
    const ring = this.#ring
    for (;;) {
      const rung = ring.load(words.bell)
      const missing = requests - ((ring.load(words.requests) - this.#requests) | 0)
      const left = until - this.#clock.steadyMs()
      if (missing <= 0 || left <= 0 || this.#held.length > 0 || this.#hasMessage) return
      this.#ring.sleep(rung, missing, left)
    }
  }

  /** Goes back to the event loop. Answers whether that is all right; otherwise something has come in the meantime. */
  leave(): boolean {
    const ring = this.#ring
    ring.store(words.place, places.away)
    if (!this.#hasMore) return true
    ring.store(words.place, places.here)
    return false
  }

  /**
   * Watches the bell for a moment before falling asleep, from which it would take longer to wake up. Only while that is of
   * use, since it takes the processor from others.
   */
  #watch(): boolean {
    const ring = this.#ring
    const isAnnounced = ring.load(words.announced) === 1
    const spins = isAnnounced ? this.#announcedSpins : this.#spins
    if (!spins.allows()) return false
    const until = this.#clock.steadyMs() + (isAnnounced ? watchAnnouncedMs : watchMs)
    do
      for (let i = 0; i < 16; i++)
        if (ring.load(words.bell) !== this.#heard) {
          spins.hit()
          return true
        }
    while (this.#clock.steadyMs() < until)
    ring.store(words.announced, 0)
    spins.miss()
    return false
  }

  get #hasMore(): boolean {
    return this.#ring.load(words.written) !== this.#cell || this.#held.length > 0 || this.#hasMessage
  }

  /** Whether a message was sent that was not taken. One that came to the event loop may not be counted yet. */
  get #hasMessage(): boolean {
    return ((this.#ring.load(words.messages) - this.#taken) | 0) > 0
  }

  /** The cell of the request that was written next, if there is one. */
  #nextCell(): number | undefined {
    const ring = this.#ring
    if (ring.load(words.written) === this.#cell) return undefined
    const at = ring.at(this.#cell) / 4
    if (ring.words[at + 1] !== filler) return this.#cell
    this.#cell = (this.#cell + (ring.words[at] as number)) | 0
    return this.#cell
  }

  #idAt(cell: number): number {
    return new Float64Array(this.#ring.memory, this.#ring.at(cell) + cellBytes, 1)[0] as number
  }

  #take(cell: number): Letter {
    const { memory, words: numbers } = this.#ring
    const at = this.#ring.at(cell)
    const [length, bytes] = [numbers[at / 4] as number, numbers[at / 4 + 1] as number]
    assert(length === 1 + Math.ceil(bytes / cellBytes), 'a request fills its cells')
    assert(length <= this.#ring.toEnd(cell), 'a request stands in cells that follow each other')
    this.#cell = (cell + length) | 0
    const letter = unpackRequest(memory, at + cellBytes, bytes)
    const { request } = letter
    if (request.source.length < copiedFrom) return letter
    return { ...letter, request: { ...request, source: copyOf(request.source) } }
  }

  /** The message that comes next, if there is one. */
  #message(): M | ArrayBuffer | undefined {
    while (this.#held.length === 0 && this.#hasMessage) {
      const received = receiveMessageOnPort(this.#port)
      assert(received !== undefined, 'messages that were counted are there')
      if (received.message !== null) this.#hold(received.message as M | ArrayBuffer)
    }
    return this.#held[0]
  }

  #hold(message: M | ArrayBuffer): void {
    this.#held.push(message)
    this.#taken = (this.#taken + 1) | 0
  }
}

function copyOf(source: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(source.length)
  copyAll(source, copy, 0)
  return copy
}

function idOf(message: Numbered | ArrayBuffer): number {
  return message instanceof ArrayBuffer ? (new Float64Array(message, 0, 1)[0] as number) : message.id
}
