import { format } from '../../src/base/format.ts'
import { limits } from '../../src/base/limits.ts'
import { ratio } from '../start/statistics.ts'
import { EventSource } from './events.ts'
import { collectGarbage, interleave } from './measure.ts'
import { publishLatency } from './receive-latency.ts'
import { partLines } from './receive-parts.ts'
import { chunksOf } from './received-chunks.ts'
import { refusedLines } from './refused-chunks.ts'
import { atMost, figure, type Line } from './report.ts'
import type { Workspace } from './workspace.ts'

const rounds = 7
const chunksPerRound = 16
const eventsPerRound = chunksPerRound * format.eventsPerCheckpoint
/** Events of a local append: a frame of this node. */
const eventsPerAppend = 128

/** Chunks of another node, from memory into the store and back, relative to appending the same events locally. */
export async function receiving(workspace: Workspace): Promise<Line[]> {
  return [
    ...(await processorTime(workspace)),
    ...(await partLines(workspace)),
    ...(await publishLatency(workspace)),
    ...(await refusedLines(workspace)),
  ]
}

/** Processor time of the whole process, all threads included, until everything is sealed. */
async function processorTime(workspace: Workspace): Promise<Line[]> {
  const bySize = new Map<number, Uint8Array[]>()
  for (const size of [1, 128]) bySize.set(size, await chunksOf((rounds + 1) * chunksPerRound, size))
  const received = (size: number, round: number): { bytes: Uint8Array }[] =>
    (bySize.get(size) ?? []).slice(round * chunksPerRound, (round + 1) * chunksPerRound).map((bytes) => ({ bytes }))
  const source = new EventSource({ unique: false })
  const times = await workspace.withStore(async (store) => {
    const receive = (size: number) => (round: number) =>
      processorMs(async () => {
        const { answers } = await store.receiveAll(received(size, round))
        if (answers.some(({ state }) => state !== 'stored')) throw new Error('a chunk was not stored')
        await store.settle()
      })
    const requests = source.requests(eventsPerRound / eventsPerAppend, eventsPerAppend)
    return await interleave(rounds, {
      append: () =>
        processorMs(async () => {
          await Promise.all(requests.map((request) => store.append(request)))
          await store.settle()
        }),
      one: receive(1),
      full: receive(128),
      send: async () => {
        const [own] = (await store.streams()).filter((stream) => stream.own)
        if (own === undefined) return 0
        return await processorMs(async () => {
          let from = own.count - eventsPerRound
          while (from < own.count) {
            const chunks = await store.chunks(own.number, from, limits.servedBytes)
            if (chunks.length === 0) throw new Error('there are no chunks to send')
            from += chunks.length * format.eventsPerCheckpoint
          }
        })
      },
    })
  })
  const line = (name: string, most: number, ours: readonly number[]): Line =>
    figure(name, ratio(ours, times.append), '×', atMost(most), perEvent(ours), `appending: ${perEvent(times.append)}`)
  return [
    line('receiving, processor time, frames of 128', 1.5, times.full),
    line('receiving, processor time, frames of 1', 3, times.one),
    line('chunks for sending, processor time', 0.5, times.send),
  ]
}

async function processorMs(work: () => Promise<void>): Promise<number> {
  collectGarbage()
  const start = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(start)
  return (user + system) / 1000
}

function perEvent(ms: readonly number[]): string {
  const sorted = ms.toSorted((a, b) => a - b)
  return `${((1000 * (sorted[sorted.length >> 1] ?? 0)) / eventsPerRound).toFixed(2)} µs/event`
}
