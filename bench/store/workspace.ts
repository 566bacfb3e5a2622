import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type EventStoreOptions, SqliteEventStore } from '../../src/store/threads/sqlite-event-store.ts'

const key = KeyPair.generate(systemRandom)

/** A store of the benchmark, with everything needed to open it again. */
export interface StoreFile {
  readonly file: string
  readonly key: KeyPair
}

export function openStore(
  { file, key }: StoreFile,
  options: Pick<EventStoreOptions, 'readerModule'> = {},
): Promise<SqliteEventStore> {
  return SqliteEventStore.open({ runtime: systemRuntime, file, topic: 'bench', kind: 'live', key, ...options })
}

/** The temporary folder of a run, with the resources to release at its end. */
export class Workspace {
  readonly #folder = mkdtempSync(join(tmpdir(), 'shoal-bench-store-'))
  readonly #children = new Set<ChildProcess>()
  #files = 0

  constructor() {
    process.on('exit', () => {
      for (const child of this.#children) child.kill('SIGKILL')
      rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5 })
    })
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))
  }

  newFile(): string {
    return join(this.#folder, `${this.#files++}.db`)
  }

  newStore(): StoreFile {
    return { file: this.newFile(), key }
  }

  remove(file: string): void {
    for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true })
  }

  /** A temporary store for one measurement. */
  async withStore<T>(work: (store: SqliteEventStore, file: StoreFile) => Promise<T>): Promise<T> {
    const file = this.newStore()
    const store = await openStore(file)
    try {
      return await work(store, file)
    } finally {
      await store.close()
      this.remove(file.file)
    }
  }

  /** Runs a program of the benchmark in its own process. It prints one line of JSON. */
  async run(program: string, args: readonly string[], nodeArgs: readonly string[] = []): Promise<unknown> {
    const path = new URL(program, import.meta.url).pathname
    const child = spawn(process.execPath, [...nodeArgs, path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#children.add(child)
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
    const output = await readText(child.stdout)
    const code = await ended
    this.#children.delete(child)
    if (code !== 0) throw new Error(`${program} ended with ${code}`)
    return JSON.parse(output)
  }
}
