import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { assert } from '../../src/base/assert.ts'
import { queryJobs } from '../../src/events/query/query-jobs.ts'
import type { KeyPair } from '../../src/identity/index.ts'
import type { Runtime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import type { EventStore, StartMarks } from '../../src/store/port/index.ts'
import { SingleThreadStore } from '../../test/support/single-thread-store.ts'

export const simTopic = 'sim'

export type StoreKind = 'memory' | 'sqlite'

/** The store of a node, which may be opened again, and replaced by an earlier copy. */
export interface SimStore {
  readonly store: EventStore
  /** Closes and opens it. */
  reopen(): Promise<void>
  /** Copies it as it is now, between two commits. */
  copy(): void
  /**
   * Continues with the last copy: a restored backup, or a disk that has lost its last writes.
   * @param found how a node finds it; files tell that themselves
   */
  restore(found: Partial<StartMarks>): Promise<void>
  /** Seals complete chunks; nothing in memory. */
  seal(): void
  close(): Promise<void>
}

export interface SimStoreOptions {
  readonly key: KeyPair
  readonly runtime: Runtime
}

/** The store in memory survives a restart of its node. */
export class MemorySimStore implements SimStore {
  #store: MemoryEventStore
  #copied: MemoryEventStore | undefined

  constructor({ key, runtime }: SimStoreOptions) {
    this.#store = new MemoryEventStore({
      topic: simTopic,
      kind: 'live',
      key,
      now: runtime.clock.now,
      runtime,
      jobs: queryJobs,
    })
  }

  get store(): MemoryEventStore {
    return this.#store
  }

  async reopen(): Promise<void> {}

  copy(): void {
    this.#copied = this.#store.copy({})
  }

  async restore(found: Partial<StartMarks>): Promise<void> {
    assert(this.#copied !== undefined, 'a restored store was copied')
    await this.#store.close()
    this.#store = this.#copied.copy(found)
  }

  seal(): void {}

  close(): Promise<void> {
    return this.store.close()
  }
}

/** The SQLite log without threads, in a folder of its own. */
export class SqliteSimStore implements SimStore {
  readonly #options: SimStoreOptions
  readonly #folder: string
  #store: SingleThreadStore

  /** @param folder is removed by its owner */
  constructor(options: SimStoreOptions, folder: string) {
    this.#options = options
    this.#folder = folder
    mkdirSync(this.#live, { recursive: true })
    this.#store = this.#open()
  }

  get store(): SingleThreadStore {
    return this.#store
  }

  async reopen(): Promise<void> {
    await this.#store.close()
    this.#store = this.#open()
  }

  seal(): void {
    this.#store.settle()
  }

  copy(): void {
    this.#replace(this.#live, this.#copied)
  }

  async restore(): Promise<void> {
    await this.#store.close()
    this.#replace(this.#copied, this.#live)
    this.#store = this.#open()
  }

  close(): Promise<void> {
    return this.#store.close()
  }

  get #live(): string {
    return join(this.#folder, 'live')
  }

  get #copied(): string {
    return join(this.#folder, 'copied')
  }

  #replace(from: string, to: string): void {
    rmSync(to, { recursive: true, force: true })
    cpSync(from, to, { recursive: true })
  }

  #open(): SingleThreadStore {
    const { key, runtime } = this.#options
    const file = join(this.#live, 'log.db')
    const { clock, random } = runtime
    return new SingleThreadStore({ file, topic: simTopic, kind: 'live', key, now: clock.now, random, runtime })
  }
}

/** A folder for the stores of a simulation, on a disk in memory if there is one. */
export function simFolder(): string {
  return mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'shoal-sim-'))
}
