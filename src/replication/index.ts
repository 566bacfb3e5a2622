export { ChainEnd, ChainWalk, hashThrough } from './chain.ts'
export {
  type Addition,
  applyAddition,
  decideChunk,
  evidenceOfReached,
  type Plan,
  planWaiting,
  type Received,
  type ReceiveOptions,
  type ReceivingStream,
} from './chunk-admission.ts'
export { readChunk, unlessMalformed } from './chunk-verification.ts'
export { type AppliedEvidence, forkedStream, frozenCount } from './fork.ts'
export { type ForkEvidence, verifyEvidence } from './fork-evidence.ts'
export { isFrameFull } from './framing.ts'
export { LamportClock } from './lamport-clock.ts'
export { earlyCheckpoint, effectOfPrune, type PruneStart, signPrune, verifyPrune } from './prune.ts'
export { effectOfRedaction, signRedaction, verifyRedaction, withoutPayloads } from './redaction.ts'
export type { StoredChain } from './stored-chain.ts'
export { endOfChunk, newestHead, signHead } from './stream-heads.ts'
export {
  endChunk,
  growOwn,
  isChunkFull,
  type StreamPosition,
  startAtCheckpoint,
  startChunkAt,
  startOfStream,
} from './stream-position.ts'
export {
  isOwnStream,
  isSameStream,
  ownStreamKey,
  requireRoomForStream,
  storableNow,
  type TopicContext,
} from './streams.ts'
export { compareEventKeys, compareEvents, type EventKey, type KeyedEvent } from './total-order.ts'
export { verifyFrom, type WaitingChunk, type WaitingRoom, waitingBytes } from './waiting-chunks.ts'
