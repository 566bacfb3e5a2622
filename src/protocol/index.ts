export { ByteReader, ByteWriter, MalformedBytes } from './bytes.ts'
export { type Chunk, decodeChunk, encodeChunk } from './chunk.ts'
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
export { checkFrame, readEvents, readFrame } from './read-frame.ts'
export { randomSeed, saltsOf } from './salts.ts'
export { type Head, heads, type PruneRecord, pruneRecords, type RedactionRecord, redactionRecords } from './signed.ts'
export { genesis, type Hash, hashLength, type StreamKey, type TopicKind } from './stream.ts'
