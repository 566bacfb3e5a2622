export { isAnnounced, isReplicated } from './announcing.ts'
export { type AppendedFrames, FrameCollector } from './appended-frames.ts'
export { ChainEnd, type ChainPlace, ChainWalk, hashThrough } from './chain.ts'
export { chainAt, type HeadPlace, hashAt, placeOf } from './chain-position.ts'
export {
  type Addition,
  applyAddition,
  decideChunk,
  decideVerified,
  emptyStream,
  evidenceOfReached,
  type MalformedChunk,
  type Plan,
  planWaiting,
  type Received,
  type ReceiveOptions,
  type ReceivingStream,
  type ReceivingStreams,
  type VerifiedContents,
} from './chunk-admission.ts'
export { type ChunkLink, linkChunk } from './chunk-link.ts'
export { readChunk, unlessMalformed } from './chunk-verification.ts'
export {
  compareOwnStream,
  type Doubt,
  doubtOf,
  newStoreMarks,
  type OwnComparison,
  type StartMarks,
} from './doubtful-start.ts'
export { compareFacts, type FactPlace, placeOfFact } from './fact-order.ts'
export { type AppliedEvidence, forkedStream, frozenCount } from './fork.ts'
export { type ForkEvidence, verifyEvidence } from './fork-evidence.ts'
export { isFrameFull } from './framing.ts'
export { type GivenChunk, requireReceivable, type StreamEnd } from './given-chunks.ts'
export { bucketOf, type DigestEntry, HeadDigest } from './head-digest.ts'
export {
  checkImport,
  type EventOrigin,
  type Imported,
  type ImportedFrame,
  type ImportPlan,
  type ImportRequest,
  importedFrames,
  nameOfOrigin,
  planImport,
} from './importing.ts'
export { type HeadContext, headRow, KeptHeads, type OwnHead, type StreamHead } from './kept-heads.ts'
export { LamportClock } from './lamport-clock.ts'
export { type CheckState, OwnStreamsCheck } from './own-streams-check.ts'
export { type PeerStatus, PeerStatuses, type PeerStatusOptions } from './peer-status.ts'
export { type ChunkSummary, plainGrowth, summaryOf } from './plain-growth.ts'
export {
  currentPrune,
  decidePrune,
  effectOfPrune,
  type PrunableStream,
  type PruneRemoval,
  type PruneStart,
  signPrune,
  verifyPrune,
} from './prune.ts'
export { type ReceivedTogether, rowsOfChunks, streamOfChunk } from './received-together.ts'
export type { PruneResult, RecordOrigin, RedactionResult } from './records.ts'
export { recordsHash } from './records-hash.ts'
export {
  effectOfRedaction,
  type RedactableStream,
  type SignedRedaction,
  signRedaction,
  verifyRedactions,
  withoutPayloads,
} from './redaction.ts'
export { ChunkSeries, chunkFrom, chunksFrom } from './serving.ts'
export type { StoredChain } from './stored-chain.ts'
export type { StoredStream } from './stored-stream.ts'
export { noRoomForStream, StreamBudget, type StreamLimit } from './stream-budget.ts'
export { endOfChunk, newestHead, signHead } from './stream-heads.ts'
export {
  endChunk,
  type Growth,
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
  nameOfStream,
  nodeOfStreamName,
  ownStreamKey,
  type ReceiveContext,
  requireForgettable,
  requireSameTopic,
  storableNow,
  type TopicContext,
} from './streams.ts'
export { compareEventKeys, compareEvents, type EventKey, type KeyedEvent } from './total-order.ts'
export {
  type ReadableCheckpoint,
  type ReadableStream,
  type VerifiedEnd,
  verifiedPrefix,
} from './verified-prefix.ts'
export { verifyFrom, verifyGiven, type WaitingChunk, type WaitingRoom, waitingBytes } from './waiting-chunks.ts'
