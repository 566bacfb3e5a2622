import type { StreamKey } from '../protocol/index.ts'

/** The sort key of an event in the total order. */
export interface OrderedEvent {
  readonly lamport: number
  readonly stream: { readonly key: StreamKey }
}

/** The total order of events: by lamport timestamp, then by stream. */
export function compareEvents(a: OrderedEvent, b: OrderedEvent): number {
  return a.lamport - b.lamport || compareStreams(a.stream.key, b.stream.key)
}

/** Streams are ordered by the bytes of the node's public key, then by their number. */
function compareStreams(a: StreamKey, b: StreamKey): number {
  return Buffer.compare(a.node, b.node) || a.number - b.number
}
