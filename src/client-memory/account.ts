import { assert } from '../base/assert.ts'
import { ShoalError } from '../base/errors.ts'
import { limits } from '../base/limits.ts'
import { tuning } from '../base/tuning.ts'

/** Bytes per accounting unit. Counted in units, totals beyond 2 GiB fit into 32-bit counters. */
const unitBytes = 1024

/** The reserve of the account, as a fraction of its limit: only small holders are charged to it. */
const reserveShare = 3 / 8

/** The threads that charge. Each has its own counter, which is reset when the thread ends and its memory is gone. */
export type ChargingThread = 'main' | { readonly reader: number }

/** Layout of the shared memory: the limit, then one counter per thread. */
const limitSlot = 0
const mainSlot = 1
const firstReaderSlot = 2
const slots = firstReaderSlot + tuning.maxReaderThreads

function slotOf(thread: ChargingThread): number {
  const slot = thread === 'main' ? mainSlot : firstReaderSlot + thread.reader
  assert(slot < slots, 'a thread that charges has a counter')
  return slot
}

/**
 * Memory accounting for clients: request bodies, partial messages, results held by queries, unread responses. Admission
 * control refuses what does not fit. The counters are in shared memory: each thread charges its own allocations.
 *
 * A reserve keeps small clients going while large ones have used up the rest.
 */
export class MemoryAccount {
  readonly memory: SharedArrayBuffer
  readonly #units: Int32Array
  readonly #slot: number

  /** One thread's view of an account that was made by `create`. */
  constructor(memory: SharedArrayBuffer, thread: ChargingThread) {
    this.memory = memory
    this.#units = new Int32Array(memory)
    this.#slot = slotOf(thread)
  }

  static create(limitBytes: number): MemoryAccount {
    assert(limitBytes >= unitBytes, 'the limit of client memory is at least one unit')
    const memory = new SharedArrayBuffer(4 * slots)
    new Int32Array(memory)[limitSlot] = Math.floor(limitBytes / unitBytes)
    return new MemoryAccount(memory, 'main')
  }

  get limitBytes(): number {
    return this.#limit * unitBytes
  }

  get usedBytes(): number {
    return this.#used() * unitBytes
  }

  /** Memory pressure: bytes to free by closing stalled connections, before large holders reach their limit. */
  get pressureBytes(): number {
    return Math.max(0, this.#used() - this.#limit * 0.5) * unitBytes
  }

  /** Charges units. Returns false and charges nothing when they do not fit. */
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

  /** Refunds all charges of a thread that has ended. */
  refundAll(thread: ChargingThread): void {
    Atomics.store(this.#units, slotOf(thread), 0)
  }

  get #limit(): number {
    return Atomics.load(this.#units, limitSlot)
  }

  #used(): number {
    let used = 0
    for (let slot = mainSlot; slot < slots; slot++) used += Atomics.load(this.#units, slot)
    return used
  }
}

/** A holder of memory that can be charged. */
export interface MemoryHolder {
  /** Charges bytes. Returns false and charges nothing when they do not fit. */
  charge(bytes: number): boolean
  refund(bytes: number): void
  /** The error for a request that could not be charged. */
  readonly refusal: Error
}

/** The memory charged to one connection or query, up to its share of the account. */
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

  /** Charges bytes. Returns false and charges nothing when they exceed the share or the account. */
  charge(bytes: number): boolean {
    return this.#set(this.#bytes + bytes)
  }

  refund(bytes: number): void {
    if (this.#isClosed) return
    assert(bytes <= this.#bytes, 'a holder refunds no more than it was charged')
    this.#set(this.#bytes - bytes)
  }

  /** Refunds everything and closes the holding; later refunds are ignored. */
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

/** The share of one connection: a quarter of the account, but at least the cost of the largest request. */
export function connectionMemoryShare(account: MemoryAccount): number {
  const largest = bodyCost(limits.bodyBytes) + parseCost(limits.bodyBytes) + 2 * tuning.scanSliceBytes
  return Math.max(account.limitBytes / 4, largest)
}

/** The cost of a body or message: its parts and their concatenation, later that and the copy for the writer thread. */
export function bodyCost(bytes: number): number {
  return 2 * bytes
}

/** The additional cost of parsing a body as JSON: its text as a string, and the parsed values. */
export function parseCost(bytes: number): number {
  return 2 * bytes
}

/** The cost of live objects on the V8 heap: before a collection there may be as much garbage as live data. */
export function heapCost(bytes: number): number {
  return 2 * bytes
}

/** The error for a request that does not fit into the memory for clients. */
export function outOfClientMemory(account: MemoryAccount): ShoalError {
  const mebibytes = Math.round(account.limitBytes / 2 ** 20)
  return new ShoalError(
    'ERR_SERVICE_OVERLOADED',
    `Service overloaded. The memory for clients is used up (--memory-limit: ${mebibytes} MiB). Nothing was stored, try again.`,
  )
}
