import type { OwnComparison } from '../../replication/index.ts'

/** What decides after a doubtful start whether own streams are complete, as replication sees it. */
export interface ReplicationGate {
  /** Whether own streams are known to be complete, or were given up. */
  readonly isOpen: boolean
  connected(peer: string): void
  disconnected(peer: string): void
  /** A peer has told what it has of the own streams. */
  compared(peer: string, streams: readonly OwnComparison[]): void
  /** Own events of a peer were stored. */
  adopted(stream: number, count: number): void
  froze(stream: number): void
}
