/**
 * An event as a query sees it. All but the numbers may be lazy getters: a query that does not access tags or payload
 * never reads them.
 */
export interface AqlEvent {
  readonly lamport: number
  readonly stream: EventStream
  readonly offset: number
  /** Microseconds since the Unix epoch. */
  readonly time: number
  /** In NFC, without duplicates, in byte order. */
  readonly tags: readonly string[]
  readonly appId: string
  /** Whether it was published on this node. */
  readonly own: boolean
  /** Its JSON text. */
  readonly payload: string
  /** Bytes that stay in memory while the event is referenced. */
  readonly heldBytes?: number
}

export interface EventStream {
  /** The 43 characters of the node ID. */
  readonly node: string
  readonly number: number | bigint
}

/** The sort key of an event in the total order. */
export interface EventKey {
  readonly lamport: number
  readonly stream: EventStream
}

/**
 * The total order of events: by lamport timestamp, then by the bytes of the node ID, then by stream number. `aql` imports
 * no other folder, so this repeats `replication/total-order.ts`; a property test compares the two.
 */
export function compareEventKeys(a: EventKey, b: EventKey): number {
  if (a.lamport !== b.lamport) return a.lamport < b.lamport ? -1 : 1
  // The text of a node ID sorts like its bytes.
  if (a.stream.node !== b.stream.node) return a.stream.node < b.stream.node ? -1 : 1
  if (a.stream.number < b.stream.number) return -1
  return a.stream.number > b.stream.number ? 1 : 0
}

export function streamText({ node, number }: EventStream): string {
  return `${node}-${number}`
}
