import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { EventSource } from './events.ts'

export const topic = 'bench'

/** Full chunks of one stream of another node, in order. */
export async function chunksOf(count: number, eventsPerFrame: number): Promise<Uint8Array[]> {
  const key = KeyPair.generate(systemRandom)
  const store = new MemoryEventStore({ runtime: systemRuntime, topic, kind: 'live', key, now: nowMicros })
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
