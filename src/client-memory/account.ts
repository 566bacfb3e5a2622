import { assert } from '../base/assert.ts'
import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'

/** Bytes of one accounting unit. In units, totals beyond 2 GiB fit into 32-bit counters. */
const unitBytes = 1024

/** The part of the account that is a reserve: only small holders are charged to it. */
const reserveShare = 3 / 8

/** The threads that charge, each to a counter of its own: when one ends, what it held is gone with it. */
const threads = ['main', 'reader'] as const
export type ChargingThread = (typeof threads)[number]

/** Slots of the shared memory: the limit, then one counter per thread. */
const limitSlot = 0

/**
 * The account of all memory that clients make the node hold: bodies, unfinished messages, what queries hold, answers that
 * were not read. Its counters are in shared memory, so that each thread charges what it allocates itself.
 *
 * A reserve keeps small clients going while large ones have used up the rest.
 */
export class MemoryAccount {
  readonly memory: SharedArrayBuffer
  readonly #units: Int32Array
  readonly #slot: number

  /** The view of one thread on an account that was made by `create`. */
  constructor(memory: SharedArrayBuffer, thread: ChargingThread) {
    this.memory = memory
    this.#units = new Int32Array(memory)
    this.#slot = 1 + threads.indexOf(thread)
  }

  static create(limitBytes: number): MemoryAccount {
    assert(limitBytes >= unitBytes, 'an account of client memory has a limit')
    const memory = new SharedArrayBuffer(4 * (1 + threads.length))
    new Int32Array(memory)[limitSlot] = Math.floor(limitBytes / unitBytes)
    return new MemoryAccount(memory, 'main')
  }

  get limitBytes(): number {
    return this.#limit * unitBytes
  }

  get usedBytes(): number {
    return this.#used() * unitBytes
  }

  /** Bytes to give up while what large holders may use is nearly used up: time to close connections that make no progress. */
  get pressureBytes(): number {
    return Math.max(0, this.#used() - this.#limit * 0.5) * unitBytes
  }

  /** Charges units; answers false, and charges nothing, when there is no room for them. */
  charge(units: number, isSmall: boolean): boolean {
    Atomics.add(this.#units, this.#slot, units)
    const available = isSmall ? this.#limit : this.#limit * (1 - reserveShare)
    if (units <= 0 || this.#used() <= available) return true
    Atomics.sub(this.#units, this.#slot, units)
    return false
  }

  refund(units: number): void {
    const before = Atomics.sub(this.#units, this.#slot, units)
    assert(before >= units, 'no more client memory is refunded than was charged')
  }

  /** Refunds all that a thread has charged: it has ended. */
  refundAll(thread: ChargingThread): void {
    Atomics.store(this.#units, 1 + threads.indexOf(thread), 0)
  }

  get #limit(): number {
    return Atomics.load(this.#units, limitSlot)
  }

  #used(): number {
    let used = 0
    for (let slot = 1; slot <= threads.length; slot++) used += Atomics.load(this.#units, slot)
    return used
  }
}

/** Somebody who is charged for memory. */
export interface MemoryHolder {
  /** Charges bytes; answers false, and charges nothing, when there is no room for them. */
  charge(bytes: number): boolean
  refund(bytes: number): void
  /** The error for what could not be charged. */
  readonly refusal: Error
}

/** What one connection or one query holds, at most its share of the account. */
export class Holding {
  readonly #account: MemoryAccount
  readonly #shareBytes: number
  #bytes = 0
  #units = 0
  #isClosed = false

  constructor(account: MemoryAccount, shareBytes = Number.POSITIVE_INFINITY) {
    this.#account = account
    this.#shareBytes = shareBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Charges bytes; answers false, and charges nothing, when the share or the account has no room for them. */
  charge(bytes: number): boolean {
    return this.#set(this.#bytes + bytes)
  }

  refund(bytes: number): void {
    if (this.#isClosed) return
    assert(bytes <= this.#bytes, 'a holder refunds no more than it was charged')
    this.#set(this.#bytes - bytes)
  }

  /** Refunds everything, for good: what its parts refund later is covered already. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#account.refund(this.#units)
    this.#bytes = 0
    this.#units = 0
  }

  #set(bytes: number): boolean {
    if (this.#isClosed) return false
    const units = Math.ceil(bytes / unitBytes)
    const more = units - this.#units
    if (more > 0) {
      if (bytes > this.#shareBytes) return false
      if (!this.#account.charge(more, bytes <= limits.smallHoldingBytes)) return false
    } else if (more < 0) this.#account.refund(-more)
    this.#bytes = bytes
    this.#units = units
    return true
  }
}

/** The share of one connection: a quarter of the account, yet enough for the largest request where the account has that. */
export function connectionShare(account: MemoryAccount): number {
  const largest = bodyCost(limits.bodyBytes) + parseCost(limits.bodyBytes) + 2 * tuning.scanSliceBytes
  return Math.max(account.limitBytes / 4, largest)
}

/** What a body, or a message, of so many bytes costs: its parts and the whole, later the whole and the copy for the writer. */
export function bodyCost(bytes: number): number {
  return 2 * bytes
}

/** What it costs on top of that to parse a body of so many bytes as JSON: its text, and the values in it. */
export function parseCost(bytes: number): number {
  return 2 * bytes
}

/** What values of so many bytes on the heap of a thread cost: V8 collects when about as much garbage has gathered as is held. */
export function heapCost(bytes: number): number {
  return 2 * bytes
}

/** The error of a request that the account of client memory has no room for. */
export function outOfClientMemory(account: MemoryAccount): ShoalError {
  const mebibytes = Math.round(account.limitBytes / 2 ** 20)
  return new ShoalError(
    'ERR_SERVICE_OVERLOADED',
    `Service overloaded. The memory for clients is used up (--memory-limit: ${mebibytes} MiB). Nothing was stored, try again.`,
  )
}
