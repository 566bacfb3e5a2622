import type { EventStore } from '../../store/index.ts'

/** The part of an event store that replication uses. */
export type ReplicatedLog = Pick<
  EventStore,
  | 'receiveAll'
  | 'applyPrune'
  | 'applyRedactions'
  | 'applyEvidence'
  | 'records'
  | 'evidence'
  | 'chunks'
  | 'hashAt'
  | 'checkpointsAfter'
  | 'heads'
  | 'headOf'
  | 'streamOf'
  | 'contains'
  | 'markAnnounced'
  | 'onAppended'
>
