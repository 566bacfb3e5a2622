import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { format } from '../../base/format.ts'
import { tuning } from '../../base/tuning.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'

/**
 * Bytes of one slot. A block with a full chunk of a file has the chunk and a few bytes around it; the slot goes on to the
 * end of a page of the disk, so that writing one touches no other.
 */
const slotBytes = format.fileChunkBytes + 4096

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
  readonly #sync: DiskSync
  readonly #used: StatementSync
  /** The first one last. */
  #free: number[] = []
  /** Given up by changes that are not stored for good yet. */
  #givenUp: number[] = []
  #count = 0
  /** Whether the transaction under way has written to slots that were not synced since. */
  #isDirty = false
  /** Bytes since the last background sync began. */
  #ahead = 0
  /** The background sync under way. It never rejects. */
  #syncing: Promise<void> | undefined
  /**
   * Why a sync failed since the transaction began. The kernel reports a write error to one sync only and may drop the
   * pages: a later sync that succeeds says nothing about them, so the transaction can only be rolled back.
   */
  #failure: Error | undefined

  constructor(file: string, database: DatabaseSync, sync: DiskSync = diskSync) {
    createFile(file, sync)
    this.#descriptor = openSync(file, 'r+')
    this.#sync = sync
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
    this.#isDirty = true
    for (let at = 0; at < bytes.length; )
      at += writeSync(this.#descriptor, bytes, at, bytes.length - at, slot * slotBytes + at)
    this.#ahead += bytes.length
    if (this.#ahead >= tuning.slotSyncBytes && this.#syncing === undefined) this.#syncing = this.#syncLater()
    if (this.#ahead >= tuning.maxUnsyncedSlotBytes) this.#syncNow()
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

  /**
   * To be called before a transaction is committed: everything that it has written is on the disk when this is fulfilled.
   * Rejects when any sync since the transaction began has failed, the background ones included.
   */
  async sync(): Promise<void> {
    await this.#syncing
    if (this.#isDirty && this.#failure === undefined) await this.#syncLater()
    if (this.#failure !== undefined) throw this.#failure
    this.#isDirty = false
  }

  /** To be called after that: what it gave up can be taken again. */
  settle(): void {
    if (this.#givenUp.length === 0) return
    this.#free = [...this.#free, ...this.#givenUp].sort((a, b) => b - a)
    this.#givenUp = []
  }

  /** To be called when a transaction was rolled back: nothing of it has happened, and its failure was reported. */
  forget(): void {
    this.#failure = undefined
    this.#isDirty = false
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

  /** Closes the file, at once unless a background sync still needs its descriptor. */
  close(): Promise<void> {
    if (this.#syncing !== undefined) return this.#syncing.then(() => closeSync(this.#descriptor))
    closeSync(this.#descriptor)
    return Promise.resolve()
  }

  #syncNow(): void {
    this.#ahead = 0
    this.#sync.data(this.#descriptor)
  }

  /**
   * Syncs while the next blocks are made: the less is left to do at the commit. A failure counts for the transaction that
   * has written when it becomes known: a sync covers everything that was written before it ended, also what was written
   * after it began.
   */
  #syncLater(): Promise<void> {
    this.#ahead = 0
    return new Promise((resolve) => {
      this.#sync.dataLater(this.#descriptor, (error) => {
        this.#syncing = undefined
        if (error !== null && this.#isDirty) this.#failure ??= error
        resolve()
      })
    })
  }
}
