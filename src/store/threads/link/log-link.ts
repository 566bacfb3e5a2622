import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { TopicKind } from '../../../protocol/index.ts'

/**
 * What another thread needs to replicate the log of a topic without the main thread. `port` has to be transferred with
 * it. When that thread ends, the writer drops what it had sent; a new link can be made for its successor.
 */
export interface LogLink {
  readonly file: string
  readonly kind: TopicKind
  /** The public key of this node. */
  readonly own: Uint8Array
  /** The memory of `SharedCounts`. */
  readonly counts: SharedArrayBuffer
  /** To the writer. */
  readonly port: MessagePort
  /** The signal that is raised for every message to the writer. */
  readonly posts: SharedArrayBuffer
}

/** A new link, and the port for the writer. */
export function newLogLink(parts: Omit<LogLink, 'port'>): [link: LogLink, writer: MessagePort] {
  const { port1, port2 } = new MessageChannel()
  return [{ ...parts, port: port2 }, port1]
}
