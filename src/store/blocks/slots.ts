import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { format } from '../../base/format.ts'
import { tuning } from '../../base/tuning.ts'
import { createFile, type DiskSync, diskSync } from '../disk/sync.ts'

/**
 * Size of a slot: a full chunk of a file with its encoding, padded to a page of the disk, so that writing a slot does
 * not touch another one.
 */
const slotBytes = format.fileChunkBytes + 4096

/** Whether a block is stored in a slot. Small ones would waste space, and are stored in the database. */
export function needsSlot(bytes: Uint8Array): boolean {
  return bytes.length > slotBytes / 2 && bytes.length <= slotBytes
}

/**
 * A file of slots of equal size for large blocks, beside the database, which assigns slots to blocks. Slots are synced
 * before the transaction is committed. A slot that a transaction frees is reused only after the commit: if the
 * transaction is rolled back, the bytes are still needed.
 */
export class Slots {
  readonly #descriptor: number
  readonly #sync: DiskSync
  readonly #used: StatementSync
  /** Free slots, in descending order. */
  #free: number[] = []
  /** Freed by the open transaction. */
  #freed: number[] = []
  #count = 0
  /** The number of slots when they were held; undefined while freed slots may be reused. */
  #held: number | undefined
  /** Whether the open transaction has unsynced writes. */
  #isDirty = false
  /** Bytes written since the start of the last background sync. */
  #ahead = 0
  /** The background sync in progress. It never rejects. */
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
    this.reload()
  }

  /** The first free slot before the last used one. */
  get firstFree(): number | undefined {
    return this.#held === undefined ? this.#free.at(-1) : undefined
  }

  /** Keeps the content of all slots, also of those that are freed, until `release`. */
  hold(): void {
    this.#held = this.#count
  }

  /** Ends `hold`. Returns whether the slots were held. */
  release(): boolean {
    const isHeld = this.#held !== undefined
    this.#held = undefined
    return isHeld
  }

  /** Writes bytes to a free slot. Returns its number. */
  write(bytes: Uint8Array): number {
    const slot = (this.#held === undefined ? this.#free.pop() : undefined) ?? this.#count++
    this.#isDirty = true
    for (let at = 0; at < bytes.length; )
      at += writeSync(this.#descriptor, bytes, at, bytes.length - at, slot * slotBytes + at)
    this.#ahead += bytes.length
    if (this.#ahead >= tuning.slotSyncBytes && this.#syncing === undefined) this.#syncing = this.#syncLater()
    if (this.#ahead >= tuning.maxUnsyncedSlotBytes) this.#syncNow()
    return slot
  }

  /** Reads a slot. The result is shorter than `length` when the file is damaged. */
  read(slot: number, length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    return bytes.subarray(0, readSync(this.#descriptor, bytes, 0, length, slot * slotBytes))
  }

  free(slot: number): void {
    this.#freed.push(slot)
  }

  /**
   * Must be called before a transaction is committed: syncs all of its writes. Rejects when any sync since the start of
   * the transaction has failed, including background syncs.
   */
  async sync(): Promise<void> {
    await this.#syncing
    if (this.#isDirty && this.#failure === undefined) await this.#syncLater()
    if (this.#failure !== undefined) throw this.#failure
    this.#isDirty = false
  }

  /** Must be called after the commit: makes the freed slots reusable. */
  releaseFreed(): void {
    if (this.#freed.length === 0) return
    this.#free = [...this.#free, ...this.#freed].sort((a, b) => b - a)
    this.#freed = []
  }

  /** Rebuilds the list of free slots from the database, and clears the failure: at the start, and after a rollback. */
  reload(): void {
    this.#failure = undefined
    this.#isDirty = false
    this.#freed = []
    this.#count = 0
    const free: number[] = []
    for (const row of this.#used.iterate()) {
      for (const slot = Number(row['slot']); this.#count < slot; this.#count++) free.push(this.#count)
      this.#count++
    }
    for (; this.#count < (this.#held ?? 0); this.#count++) free.push(this.#count)
    this.#free = free.reverse()
  }

  /** Truncates the file after the last used slot. */
  truncate(): void {
    if (this.#held !== undefined) return
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
   * Syncs in the background, which shortens the sync of the commit. A failure fails the transaction that is open when
   * it is reported, because a sync may cover writes that were made after it began.
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
