/**
 * An event as a query sees it. Everything but the numbers may be a getter: a query that does not look at the tags or the
 * payload never asks for them.
 */
export interface AqlEvent {
  readonly lamport: number
  readonly stream: EventStream
  readonly offset: number
  /** Microseconds since 1970. */
  readonly time: number
  /** In NFC, without duplicates, by their bytes. */
  readonly tags: readonly string[]
  readonly appId: string
  /** Whether it was written by the node that answers. */
  readonly own: boolean
  /** Its JSON text. */
  readonly payload: string
  /** Bytes that are kept in memory for as long as somebody holds it. */
  readonly heldBytes?: number
}

export interface EventStream {
  /** The 43 characters of the node ID. */
  readonly node: string
  readonly number: number | bigint
}

/** A place in the order of all events. */
export interface Place {
  readonly lamport: number
  readonly stream: EventStream
}

/** Below zero when `a` comes first: by lamport timestamp, then by the bytes of the node ID, then by stream number. */
export function comparePlaces(a: Place, b: Place): number {
  if (a.lamport !== b.lamport) return a.lamport < b.lamport ? -1 : 1
  // The text of a node ID sorts like its bytes.
  if (a.stream.node !== b.stream.node) return a.stream.node < b.stream.node ? -1 : 1
  if (a.stream.number < b.stream.number) return -1
  return a.stream.number > b.stream.number ? 1 : 0
}

export function streamText({ node, number }: EventStream): string {
  return `${node}-${number}`
}
