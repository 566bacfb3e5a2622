import type { StreamKey } from '../protocol/index.ts'

/** An event as far as its place in the total order goes. */
export interface OrderedEvent {
  readonly lamport: number
  readonly stream: { readonly key: StreamKey }
}

/** The total order of events: by lamport timestamp, then by stream. */
export function compareEvents(a: OrderedEvent, b: OrderedEvent): number {
  return a.lamport - b.lamport || compareStreams(a.stream.key, b.stream.key)
}

/** Streams are ordered by the bytes of their node, then by their number. */
function compareStreams(a: StreamKey, b: StreamKey): number {
  return Buffer.compare(a.node, b.node) || a.number - b.number
}
