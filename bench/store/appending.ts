import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { zstdCompressSync } from 'node:zlib'
import { tuning } from '../../src/base/tuning.ts'
import type { AppendRequest } from '../../src/store/port/index.ts'
import type { SqliteEventStore } from '../../src/store/threads/sqlite-event-store.ts'
import { BareRows } from './bare.ts'
import { EventSource, recordOf } from './events.ts'
import type { GroupResult } from './group-process.ts'
import { collectGarbage, interleave, type LoopWatch, time, timeAsync } from './measure.ts'
import { atLeast, atMost, figure, type Line, large, millis, speed } from './report.ts'
import type { StoreFile, Workspace } from './workspace.ts'

const rounds = 7
const roundsBefore = 3
const singlesBefore = 4000
const singleRounds = 40
const singlesPerRound = 200
const batchSize = 1000

/** Sequential appends of one event. In short turns, so that both sides run at the same machine speed. */
export async function singleAppends(workspace: Workspace, watch: LoopWatch): Promise<Line[]> {
  const source = new EventSource({ unique: false })
  const rows = new BareRows(workspace.newFile())
  const requests = source.requests((singleRounds + 1) * singlesPerRound, 1)
  const records = requests.map(recordOf)
  const turn = <T>(all: readonly T[], round: number): readonly T[] =>
    all.slice(round * singlesPerRound, (round + 1) * singlesPerRound)
  try {
    const { ours, bare } = await workspace.withStore(async (store) => {
      // Warm-up: before JIT compilation an append takes three times as long.
      for (const request of source.requests(singlesBefore, 1)) await store.append(request)
      collectGarbage()
      return interleave(singleRounds, {
        ours: (round) =>
          watch.during('single appends', () =>
            timeAsync(async () => {
              for (const request of turn(requests, round)) await store.append(request)
            }),
          ),
        bare: (round) =>
          time(() => {
            for (const record of turn(records, round)) rows.commit(record)
          }),
      })
    })
    return [
      speed({
        name: 'single append',
        goal: atLeast(0.5),
        ours,
        bare,
        bareName: 'bare commits of a row',
        operations: singlesPerRound,
        unit: 'events',
      }),
    ]
  } finally {
    rows.close()
  }
}

/** Group commit: concurrent callers, on this disk and on one whose fsync takes 1 ms. */
export async function groupedAppends(workspace: Workspace, watch: LoopWatch): Promise<Line[]> {
  const slowCommit = new URL('slow-commit.ts', import.meta.url).href
  const slow = (await workspace.run('group-process.ts', [], ['--import', slowCommit])) as GroupResult
  const real = (await workspace.run('group-process.ts', [])) as GroupResult
  watch.add('256 callers, sync of 1 ms', slow.loopP99)
  watch.add('256 callers', real.loopP99)
  const line = (name: string, { one, many }: GroupResult): Parameters<typeof speed>[0] => ({
    name,
    ours: many,
    bare: one,
    bareName: 'one caller',
    operations: 1,
    unit: 'events',
  })
  return [
    speed({
      name: '… where a sync takes 1 ms',
      ours: slow.one,
      bare: slow.bare,
      bareName: 'bare commits of a row',
      operations: 1,
      unit: 'events',
    }),
    speed({ ...line('256 callers where a sync takes 1 ms', slow), goal: atLeast(50) }),
    speed(line('256 callers on this disk', real)),
  ]
}

/** Sequential batches, while earlier events are sealed and indexed. */
export async function batches(workspace: Workspace, watch: LoopWatch, events: number): Promise<Line[]> {
  const perRound = Math.max(4, Math.min(100, Math.floor(events / batchSize / 2)))
  const ordinary = new EventSource({ unique: false })
  const appending =
    (store: SqliteEventStore, { file }: StoreFile, source: EventSource) =>
    async (): Promise<number> => {
      const ms = await appendAll(store, source.requests(perRound, batchSize), watch, 'batches')
      await sealed(file, 0)
      return ms
    }
  const bare = (bodyOf: (record: Buffer) => Uint8Array): number => {
    const file = workspace.newFile()
    const rows = new BareRows(file)
    const bodies = ordinary.requests(perRound, batchSize).map((request) => bodyOf(recordOf(request)))
    const ms = commitAll(rows, bodies)
    rows.close()
    workspace.remove(file)
    return ms
  }
  const common = { operations: perRound * batchSize, unit: 'events' }
  return workspace.withStore(async (store, file) => {
    const ours = appending(store, file, ordinary)
    // Warm-up: JIT compilation in the threads of the store takes more than one round.
    for (let round = 0; round < roundsBefore; round++) await ours()
    const beside = await interleave(rounds, {
      ours,
      raw: () => bare((record) => record),
      packed: () => bare((record) => zstdCompressSync(record)),
    })
    // Not earlier, because the background work of the other store would run concurrently.
    const tags = await workspace.withStore((store, file) =>
      interleave(rounds, { ours, unique: appending(store, file, new EventSource({ unique: true })) }),
    )
    return [
      speed({
        name: 'batches of 1000, chained and sealed beside',
        goal: atLeast(0.3),
        ours: beside.ours,
        bare: beside.raw,
        bareName: 'bare row of the same bytes per batch',
        ...common,
      }),
      speed({
        name: '… beside rows that were compressed before',
        ours: beside.ours,
        bare: beside.packed,
        bareName: 'bare row of the compressed bytes per batch',
        ...common,
      }),
      speed({
        name: 'batches with unique tags',
        goal: atLeast(0.5),
        ours: tags.unique,
        bare: tags.ours,
        bareName: 'ordinary batches',
        ...common,
      }),
    ]
  })
}

/** Concurrent requests at maximum append throughput. */
const inFlight = 4
/** Sealing keeps up if the tail has at most three seals: one gathering, one being sealed, and one in reserve. */
const sealsInTail = 3
const mostPrepared = 200

/** Whether sealing keeps up with the maximum append throughput. */
export async function sealing(workspace: Workspace, watch: LoopWatch, events: number): Promise<Line[]> {
  const count = Math.max(1, Math.floor(Math.min(events, 1_000_000) / batchSize))
  const prepared = new EventSource({ unique: false }).requests(Math.min(count, mostPrepared), batchSize)
  return workspace.withStore(async (store, { file }) => {
    const tail = new TailWatch(file)
    collectGarbage()
    let appended = 0
    const append = async (): Promise<void> => {
      while (appended < count) {
        await store.append(prepared[appended++ % prepared.length] as AppendRequest)
        tail.look()
      }
    }
    const { appendMs, sealMs } = await watch.during('appending as fast as possible', async () => ({
      appendMs: await timeAsync(() => Promise.all(Array.from({ length: inFlight }, append))),
      sealMs: await timeAsync(() => tail.below(tuning.chunksPerSeal)),
    }))
    const { mostChunks, mostEvents } = tail
    tail.close()
    const total = count * batchSize
    return [
      figure(
        'sealing keeps up: largest tail, in seals',
        mostChunks / tuning.chunksPerSeal,
        'seals',
        atMost(sealsInTail),
        `${large(mostEvents)} events, sealed ${millis(sealMs)} after the last append`,
        `appended at ${large((1000 * total) / appendMs)} events/s, ${large((1000 * total) / (appendMs + sealMs))} until sealed`,
      ),
    ]
  })
}

/** Watches the size of the tail. */
class TailWatch {
  mostChunks = 0
  mostEvents = 0
  readonly #database: DatabaseSync
  readonly #chunks: ReturnType<DatabaseSync['prepare']>
  readonly #events: ReturnType<DatabaseSync['prepare']>

  constructor(file: string) {
    this.#database = new DatabaseSync(file, { readOnly: true })
    const sealed = 'SELECT coalesce(max(key), -1) FROM segment'
    this.#chunks = this.#database.prepare(
      `SELECT count(*) AS chunks FROM checkpoint WHERE key > coalesce((SELECT key + count FROM segment WHERE key = (${sealed})), 0)`,
    )
    this.#events = this.#database.prepare('SELECT coalesce(sum(count), 0) AS events FROM tail')
  }

  /** The number of complete unsealed chunks. */
  look(): number {
    const chunks = Number(this.#chunks.get()?.['chunks'])
    if (chunks > this.mostChunks) {
      this.mostChunks = chunks
      this.mostEvents = Number(this.#events.get()?.['events'])
    }
    return chunks
  }

  async below(chunks: number): Promise<void> {
    while (this.look() >= chunks) await sleep(2)
  }

  close(): void {
    this.#database.close()
  }
}

async function sealed(file: string, chunks: number): Promise<void> {
  const tail = new TailWatch(file)
  await tail.below(chunks + 1)
  tail.close()
}

async function appendAll(
  store: SqliteEventStore,
  requests: readonly AppendRequest[],
  watch: LoopWatch,
  activity: string,
): Promise<number> {
  collectGarbage()
  return watch.during(activity, () =>
    timeAsync(async () => {
      for (const request of requests) await store.append(request)
    }),
  )
}

function commitAll(rows: BareRows, bodies: readonly Uint8Array[]): number {
  collectGarbage()
  return time(() => {
    for (const body of bodies) rows.commit(body)
  })
}

/** Fills a store, not measured. */
export async function fill(store: SqliteEventStore, source: EventSource, events: number): Promise<void> {
  await store.append(source.live())
  let left = events
  const append = async (): Promise<void> => {
    while (left > 0) {
      const count = Math.min(batchSize, left)
      left -= count
      await store.append(source.request(count))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, append))
}
