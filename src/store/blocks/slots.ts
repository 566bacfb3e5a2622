import { closeSync, constants, fdatasync, fdatasyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { limits } from '../../limits.ts'

/**
 * Bytes of one slot. A block with a full chunk of a file has the chunk and a few bytes around it; the slot goes on to the
 * end of a page of the disk, so that writing one touches no other.
 */
const slotBytes = limits.fileChunkBytes + 4096

/** Whether the bytes of a block go to a slot. Smaller ones would waste it, and the database is good at them. */
export function needsSlot(bytes: Uint8Array): boolean {
  return bytes.length > slotBytes / 2 && bytes.length <= slotBytes
}

/**
 * A file of equal slots for the bytes of large blocks, beside the database that says which block is in which slot. What is
 * written is on the disk before a transaction says so. A slot that a transaction gives up is taken again only after it: if
 * it never comes to that, the bytes are still needed.
 */
export class Slots {
  readonly #descriptor: number
  readonly #used: StatementSync
  /** The first one last. */
  #free: number[] = []
  /** Given up by changes that are not stored for good yet. */
  #givenUp: number[] = []
  #count = 0
  #isSynced = true
  /** Bytes since the disk was last asked to begin with them. */
  #ahead = 0
  #isSyncing = false
  #failure: Error | undefined

  constructor(file: string, database: DatabaseSync) {
    this.#descriptor = openSync(file, constants.O_RDWR | constants.O_CREAT, 0o600)
    this.#used = database.prepare('SELECT slot FROM block WHERE slot IS NOT NULL ORDER BY slot')
    this.forget()
  }

  /** The first slot that is free; those after the last one are not counted. */
  get firstFree(): number | undefined {
    return this.#free.at(-1)
  }

  /** Writes bytes to a slot; answers with its number. */
  write(bytes: Uint8Array): number {
    const slot = this.#free.pop() ?? this.#count++
    this.#isSynced = false
    for (let at = 0; at < bytes.length; )
      at += writeSync(this.#descriptor, bytes, at, bytes.length - at, slot * slotBytes + at)
    this.#ahead += bytes.length
    if (this.#ahead >= limits.slotBytesAhead && !this.#isSyncing) this.#beginSync()
    if (this.#ahead >= limits.slotBytesBehind) this.#syncNow()
    return slot
  }

  /** What is in a slot; shorter than asked for when the file is damaged. */
  read(slot: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    return bytes.subarray(0, readSync(this.#descriptor, bytes, 0, length, slot * slotBytes))
  }

  giveUp(slot: number): void {
    this.#givenUp.push(slot)
  }

  /** To be called before a transaction is committed: everything that was written is on the disk when this returns. */
  sync(): void {
    if (this.#isSynced) return
    this.#syncNow()
    if (this.#failure !== undefined) throw this.#failure
    this.#isSynced = true
  }

  /** To be called after that: what it gave up can be taken again. */
  settle(): void {
    if (this.#givenUp.length === 0) return
    this.#free = [...this.#free, ...this.#givenUp].sort((a, b) => b - a)
    this.#givenUp = []
  }

  /** To be called when a transaction was rolled back: nothing of it has happened. */
  forget(): void {
    this.#failure = undefined
    this.#givenUp = []
    this.#count = 0
    const free: number[] = []
    for (const row of this.#used.iterate()) {
      for (const slot = Number(row['slot']); this.#count < slot; this.#count++) free.push(this.#count)
      this.#count++
    }
    this.#free = free.reverse()
  }

  /** Gives back to the disk what is free at the end. */
  shorten(): void {
    let kept = 0
    while (this.#free[kept] === this.#count - 1) {
      this.#count--
      kept++
    }
    this.#free = this.#free.slice(kept)
    ftruncateSync(this.#descriptor, this.#count * slotBytes)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  #syncNow(): void {
    fdatasyncSync(this.#descriptor)
    this.#ahead = 0
  }

  /** Lets the disk begin while the next blocks are made: the less it has to do when somebody waits for it. */
  #beginSync(): void {
    this.#ahead = 0
    this.#isSyncing = true
    fdatasync(this.#descriptor, (error) => {
      this.#isSyncing = false
      // It would be told to nobody else.
      if (error !== null) this.#failure ??= error
    })
  }
}
