import type { OwnComparison } from '../../replication/index.ts'

/** What decides whether own streams are complete, as replication sees it. */
export interface ReplicationGate {
  /** Whether other nodes may have more of the own streams, after a doubtful start. */
  readonly isInDoubt: boolean
  connected(peer: string): void
  disconnected(peer: string): void
  /** A peer has told all that it has of the own streams. */
  compared(peer: string, streams: readonly OwnComparison[]): void
  /** A peer has a longer chain of an own stream, although nothing was in doubt. */
  behind(peer: string, stream: Pick<OwnComparison, 'stream' | 'count'>): void
  /** Own events of a peer were stored. */
  adopted(stream: number, count: number): void
  froze(stream: number): void
}
