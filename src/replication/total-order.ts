import type { StreamKey } from '../protocol/index.ts'

/** An event with the parts of its key, with the stream as the store has it. */
export interface KeyedEvent {
  readonly lamport: number
  readonly stream: { readonly key: StreamKey }
}

/** The total order of events: by lamport timestamp, then by stream. */
export function compareEvents(a: KeyedEvent, b: KeyedEvent): number {
  return a.lamport - b.lamport || compareStreams(a.stream.key, b.stream.key)
}

/** The sort key of an event, with the stream ID as text. */
export interface EventKey {
  readonly lamport: number
  readonly stream: string
}

/** The total order of event keys. The text of a node ID sorts like the bytes of the public key. */
export function compareEventKeys(a: EventKey, b: EventKey): number {
  if (a.lamport !== b.lamport) return a.lamport - b.lamport
  const [aNode = '', aNumber = ''] = a.stream.split('-')
  const [bNode = '', bNumber = ''] = b.stream.split('-')
  if (aNode !== bNode) return aNode < bNode ? -1 : 1
  return Number(BigInt(aNumber) - BigInt(bNumber))
}

/** Streams are ordered by the bytes of the node's public key, then by their number. */
function compareStreams(a: StreamKey, b: StreamKey): number {
  return Buffer.compare(a.node, b.node) || a.number - b.number
}
