import { StringDecoder } from 'node:string_decoder'
import { nodeAppId } from '../identity/index.ts'
import { encodeLabels } from '../protocol/index.ts'
import type { EventLog, Readings, Selection } from '../store/index.ts'

/** A stored event of this node. */
export interface NodeEvent {
  readonly lamport: number
  readonly stream: string
  readonly offset: number
  readonly tags: readonly string[]
  readonly payload: unknown
}

/** Reads selected events of the node itself. */
export async function* ownNodeEvents(store: Readings, selection: Selection): AsyncGenerator<NodeEvent> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  for await (const piece of store.read(selection)) {
    const lines = (rest + decoder.write(piece)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) yield JSON.parse(line) as NodeEvent
  }
}

/** Appends events of the node itself to one of its streams, past the routes. */
export async function appendNodeEvents(
  store: EventLog,
  stream: number,
  events: readonly Pick<NodeEvent, 'tags' | 'payload'>[],
): Promise<void> {
  const parts: Buffer[] = []
  const spans = new Int32Array(4 * events.length)
  let at = 0
  const add = (bytes: Uint8Array): [number, number] => {
    parts.push(Buffer.from(bytes))
    at += bytes.length
    return [at - bytes.length, at]
  }
  for (const [i, { tags, payload }] of events.entries()) {
    const labels = add(encodeLabels(nodeAppId, tags))
    spans.set([...labels, ...add(Buffer.from(JSON.stringify(payload)))], 4 * i)
  }
  await store.append({ source: Buffer.concat(parts), spans, streams: new Uint32Array(events.length).fill(stream) })
}
