/**
 * Constants of the storage format and the wire protocol: nodes of all versions have to agree on them. Test vectors pin
 * them.
 */
export const format = {
  /** Maximum number of events in a frame. */
  eventsPerFrame: 1024,
  /** Number of events since the last checkpoint: the frame that reaches it ends the chunk with a checkpoint. */
  eventsPerCheckpoint: 1024,
  /** Bytes of frame records since the last checkpoint: the frame that reaches them ends the chunk with a checkpoint. */
  bytesPerCheckpoint: 1024 * 1024,
  /** Maximum number of events in a chunk. */
  eventsPerChunk: 2047,
  /** Maximum size of a chunk: a full one plus a frame that ends with the largest possible event. */
  chunkBytes: 12 * 1024 * 1024,
  /** Maximum number of streams in a topic, of all nodes. */
  streamsPerTopic: 8191,
  /** Maximum number of streams of a node in a topic: their numbers are below it. */
  streamsPerNode: 256,
  /** Number of buckets of the digest of a head table. */
  digestBuckets: 256,
  /** Number of events in a block of a segment: the unit that is decompressed to read one event. */
  eventsPerBlock: 128,
  /** Bytes of payloads after which a block of a segment is full, whatever its number of events. */
  blockBytes: 128 * 1024,
  /** Number of block columns of a segment. */
  blocksPerSegment: 16,
  /** Maximum number of events in a range of the index: positions in it have 20 bits. */
  eventsPerRange: 2 ** 20,
  /** Maximum number of events in a merged range of the index. */
  mergedRangeEvents: 2 ** 18,
  /** Maximum number of index ranges in an event log, over its whole life: keys of buckets stay below 2^53. */
  rangesPerLog: 2 ** 37 - 1,
  /** Maximum number of buckets in a range of the index. */
  bucketsPerRange: 2 ** 16,
  /** Seed of the hashes of tags in the index. */
  tagHashSeed: 0x811c9dc5,
  /** Seed of the hashes of app IDs in the index. */
  appHashSeed: 0x2f0b4c47,
  /** SQLite application ID of an event log: "shlo" in ASCII. */
  logApplicationId: 0x73686c6f,
  /** Format version of an event log. 2: hashes before rows of the tail. 3: times of index ranges. 4: redaction ranges. */
  logFormatVersion: 4,
  /** SQLite page size of an event log. */
  logPageBytes: 4096,
  /** Maximum number of events in a stream over its whole life. */
  eventsPerStream: 2 ** 40 - 1,
  /** Maximum number of ranges of offsets in a redaction record. */
  rangesPerRedaction: 256,
  /** Maximum number of offsets in a redaction record. */
  offsetsPerRedaction: 4096,
  /** Maximum size of a payload as JSON text. */
  payloadBytes: 8 * 1024 * 1024,
  /** Maximum nesting depth of a payload, and of all other JSON. */
  jsonNesting: 512,
  /** Maximum number of tags on an event. */
  tagsPerEvent: 128,
  /** Maximum size of a tag. */
  tagBytes: 1024,
  /** Maximum size of an app ID. */
  appIdBytes: 256,
  /** Maximum size of a topic name: 60 characters of at most 4 bytes. */
  topicBytes: 240,
  /** Number of bytes of a digest of a head table, or of one of its buckets, that are sent. */
  digestBytes: 8,
  /** Bytes of file content in a leaf block of the UnixFS tree. */
  fileChunkBytes: 256 * 1024,
  /** Maximum number of links in an inner block of the UnixFS tree of a file. */
  linksPerBlock: 174,
  /** Maximum size of a directory block. */
  directoryBytes: 512 * 1024,
  /** Maximum size of a block of a file or directory: directories have the largest ones. */
  fileBlockBytes: 512 * 1024,
} as const
