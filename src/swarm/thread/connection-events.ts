import type { Message } from '../../sync/index.ts'

/** What is told about connections and messages: by `Replicator`. */
export interface ConnectionEvents {
  connected(peer: string): void
  disconnected(peer: string): void
  received(peer: string, message: Message): void
  /** Something has arrived that is not a message for it. */
  bytesArrived(peer: string): void
  congested(peer: string, isCongested: boolean): void
  syncCongested(peer: string, isCongested: boolean): void
}

/** What is told about the stream of blocks: by `BlockReplicator`. */
export interface BlockEvents {
  connected(peer: string): void
  disconnected(peer: string): void
  received(peer: string, bytes: Uint8Array): void
  sent(peer: string): void
}
