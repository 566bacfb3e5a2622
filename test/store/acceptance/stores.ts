import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { readerModule } from '../../../src/events/index.ts'
import { queryJobs } from '../../../src/events/query/query-jobs.ts'
import { KeyPair } from '../../../src/identity/index.ts'
import { newStoreMarks } from '../../../src/replication/index.ts'
import { nowMicros } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { LinkedLog } from '../../../src/store/linked/index.ts'
import { MemoryEventStore } from '../../../src/store/memory/memory-event-store.ts'
import { backupLog, LogWriter } from '../../../src/store/sqlite/index.ts'
import { type EventStoreOptions, SqliteEventStore } from '../../../src/store/threads/sqlite-event-store.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { SingleThreadStore } from '../../support/single-thread-store.ts'
import type { OpenOptions } from './support.ts'

// Most of the time to open a store is spent on compiling the modules of its threads; this caches the result.
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache')

export function complete({
  queries = false,
  restored: _,
  ...options
}: OpenOptions = {}): Omit<EventStoreOptions, 'file'> {
  return {
    runtime: systemRuntime,
    topic: 'a-topic',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    ...options,
    ...(queries && { readerModule }),
  }
}

export async function openSqlite(
  test: TestContext,
  options?: OpenOptions,
  readers?: EventStoreOptions['readers'],
): Promise<SqliteEventStore> {
  let store: SqliteEventStore | undefined
  // Registered before the removal of the folder: hooks run in the order of registration.
  test.after(() => store?.close())
  const all = complete(options)
  store = await SqliteEventStore.open({ file: logFile(test, all, options), ...all, ...(readers && { readers }) })
  return store
}

/** The file of a new log. The backup of a log without events is one with the mark of a backup. */
function logFile(
  test: TestContext,
  all: Omit<EventStoreOptions, 'file'>,
  { restored = false }: OpenOptions = {},
): string {
  const folder = temporaryFolder(test)
  const file = join(folder, 'log.db')
  if (!restored) return file
  const original = join(folder, 'original.db')
  const { topic, kind, key } = all
  new LogWriter({ file: original, topic, kind, key, now: nowMicros, random: systemRandom }).close()
  backupLog(original, file, nowMicros())
  return file
}

/** A store with three reader threads, whatever the processors. */
export function openWithReaders(test: TestContext, options?: OpenOptions): Promise<SqliteEventStore> {
  return openSqlite(test, options, { atOpen: 3, most: 3 })
}

export async function openSingleThread(test: TestContext, options?: OpenOptions): Promise<SingleThreadStore> {
  let store: SingleThreadStore | undefined
  test.after(() => store?.close())
  const all = complete(options)
  const file = logFile(test, all, options)
  const { topic, kind, key } = all
  store = new SingleThreadStore({
    file,
    topic,
    kind,
    key,
    now: nowMicros,
    random: systemRandom,
    runtime: systemRuntime,
  })
  return store
}

export async function openMemory(_: TestContext, options?: OpenOptions): Promise<MemoryEventStore> {
  const marks = { ...newStoreMarks, isRestored: options?.restored === true }
  return new MemoryEventStore({ ...complete(options), now: nowMicros, jobs: queryJobs, marks })
}

const writes: ReadonlySet<string | symbol> = new Set<keyof SqliteEventStore>([
  'append',
  'import',
  'receive',
  'prune',
  'applyPrune',
  'redact',
  'applyRedaction',
  'applyRedactions',
  'applyEvidence',
  'forgetStream',
])

/** A store of which another thread replicates the events: what it exchanges goes through a link. */
export async function openLinked(test: TestContext, options?: OpenOptions): Promise<SqliteEventStore> {
  let linked: LinkedLog | undefined
  // Registered first: a link is closed before its store.
  test.after(() => linked?.close())
  const store = await openSqlite(test, options)
  const log = new LinkedLog(store.link(), systemRuntime)
  linked = log
  // Messages of two ports have no common order: what was sent over the link before an append has to arrive first.
  const append: SqliteEventStore['append'] = async (request) => {
    await log.head(0)
    return store.append(request)
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') return append
      const owner = name !== 'close' && name in log ? log : target
      const member: unknown = Reflect.get(owner, name)
      return typeof member === 'function' ? member.bind(owner) : member
    },
  })
}

/** A store that seals everything after each write, so that the next read is from segments. */
export function settling(store: SqliteEventStore): SqliteEventStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (!writes.has(name)) return member.bind(target)
      return async (...args: unknown[]) => {
        const answer: unknown = await Reflect.apply(member, target, args)
        await target.settle()
        return answer
      }
    },
  })
}
