import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import { EventSource } from '../store/events.ts'
import { openStore, type StoreFile, type Workspace } from '../store/workspace.ts'

/** Below a checkpoint, so that all events stay in the tail. */
export const eventsPerStream = 1000
const mostNodes = 100

/** A store with events of many streams of other nodes. */
export interface StreamsStore extends StoreFile {
  readonly streams: number
  /** The tag of ten events of one stream. */
  readonly rareTag: string
}

/** Receives events of up to 100 nodes, each a frame of its own. A stream arrives as one chunk: one row of the tail. */
export async function buildStore(workspace: Workspace, streams: number): Promise<StreamsStore> {
  const file = workspace.newStore()
  const source = new EventSource({ unique: false })
  const nodes = Math.min(mostNodes, streams)
  const store = await openStore(file)
  try {
    for (let node = 0; node < nodes; node++)
      for (const chunk of await chunksOfNode(source, streams / nodes, node === 0)) {
        const { state, count } = await store.receive(chunk)
        if (state !== 'stored' || count !== eventsPerStream) throw new Error(`a chunk is ${state} up to ${count}`)
      }
    await store.settle()
  } finally {
    await store.close()
  }
  return { ...file, streams, rareTag: source.liveTag }
}

/** One incomplete chunk for each stream of a new node. */
async function chunksOfNode(source: EventSource, streams: number, hasRareEvents: boolean): Promise<Uint8Array[]> {
  const key = KeyPair.generate(systemRandom)
  const store = new MemoryEventStore({ runtime: systemRuntime, topic: 'bench', kind: 'live', key, now: nowMicros })
  try {
    for (let i = 0; i < eventsPerStream; i++)
      for (let stream = 0; stream < streams; stream++) {
        const isRare = hasRareEvents && stream === 0 && i % (eventsPerStream / 10) === 0
        const request = isRare ? source.live() : source.request(1)
        await store.append({ ...request, streams: Uint32Array.of(stream) })
      }
    const chunks: Uint8Array[] = []
    for (let stream = 0; stream < streams; stream++) {
      const chunk = await store.chunk(stream, 0)
      if (chunk === undefined) throw new Error(`stream ${stream} has no chunk`)
      chunks.push(chunk)
    }
    return chunks
  } finally {
    await store.close()
  }
}
