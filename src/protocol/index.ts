export { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
export { checkFrame } from './check-frame.ts'
export { type Chunk, decodeChunk, encodeChunk, firstOffsetOf, readVerifiedChunk, signedHeadOf } from './chunk.ts'
export {
  type EventColumns,
  type Frame,
  FrameBuilder,
  hashAfter,
  type Linkable,
  withoutAllPayloads,
  withoutPayload,
} from './frame.ts'
export { decodeLabels, encodeLabels, encodeLabelsExactly, type Labels } from './labels.ts'
export { type OffsetRange, rangesOf } from './offset-ranges.ts'
export { readEvents, readFrame } from './read-frame.ts'
export { randomSeed, saltsOf } from './salts.ts'
export { fullHead, shortHead } from './short-head.ts'
export {
  type Head,
  heads,
  type PruneRecord,
  pruneRecords,
  type RedactionRecord,
  redactionRecords,
  type StoredPrune,
  streamOfRedaction,
  verifyRedactionRecord,
  verifyStoredPrune,
  verifyStoredRedaction,
} from './signed.ts'
export {
  genesis,
  type Hash,
  hashLength,
  readStream,
  type StreamKey,
  sha256,
  type TopicKind,
  writeStream,
} from './stream.ts'
