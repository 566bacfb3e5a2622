import { createHash } from 'node:crypto'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { BareRows } from './bare.ts'
import { EventSource } from './events.ts'
import { interleave, time, timeAsync } from './measure.ts'
import { type Line, speed } from './report.ts'
import type { Workspace } from './workspace.ts'

const rounds = 7
const chunksPerRound = 8

/** Chunks of another node, from memory into the store: verified, chained, committed one by one. */
export async function receiving(workspace: Workspace): Promise<Line[]> {
  const lines: Line[] = []
  for (const eventsPerFrame of [1, 128]) {
    const chunks = await chunksOf((rounds + 1) * chunksPerRound, eventsPerFrame)
    const turn = (round: number): readonly Uint8Array[] =>
      chunks.slice(round * chunksPerRound, (round + 1) * chunksPerRound)
    const rows = new BareRows(workspace.newFile())
    try {
      const { ours, bare } = await workspace.withStore((store) =>
        interleave(rounds, {
          ours: (round) =>
            timeAsync(async () => {
              for (const chunk of turn(round)) await store.receive(chunk)
            }),
          bare: (round) =>
            time(() => {
              for (const chunk of turn(round)) {
                createHash('sha256').update(chunk).digest()
                rows.commit(chunk)
              }
            }),
        }),
      )
      lines.push(
        speed({
          name: `receive, frames of ${eventsPerFrame}`,
          ours,
          bare,
          bareName: 'one hash and one bare row per chunk',
          operations: chunksPerRound * format.eventsPerCheckpoint,
          unit: 'events',
        }),
      )
    } finally {
      rows.close()
    }
  }
  return lines
}

/** Full chunks of one stream of another node, in order. */
async function chunksOf(count: number, eventsPerFrame: number): Promise<Uint8Array[]> {
  const store = new MemoryEventStore({
    runtime: systemRuntime,
    topic: 'bench',
    kind: 'live',
    key: KeyPair.generate(systemRandom),
    now: nowMicros,
  })
  const source = new EventSource({ unique: false })
  try {
    const requests = (count * format.eventsPerCheckpoint) / eventsPerFrame
    for (let i = 0; i < requests; i++) await store.append(source.request(eventsPerFrame))
    const chunks: Uint8Array[] = []
    for (let i = 0; i < count; i++) {
      const chunk = await store.chunk(0, i * format.eventsPerCheckpoint)
      if (chunk === undefined) throw new Error(`there is no chunk ${i}`)
      chunks.push(chunk)
    }
    return chunks
  } finally {
    await store.close()
  }
}
