/**
 * Numbers that are part of what is on disks and wires: nodes of all versions have to agree on them. Test vectors pin them.
 */
export const format = {
  /** Events of one frame. */
  eventsPerFrame: 1024,
  /** Events after which a chunk ends with the next frame. */
  eventsPerCheckpoint: 1024,
  /** Bytes of records after which a chunk ends with the next frame. */
  bytesPerCheckpoint: 1024 * 1024,
  /** Events of one chunk. */
  eventsPerChunk: 2047,
  /** Bytes of one chunk: a full one, and a frame that ends with the largest event. */
  chunkBytes: 12 * 1024 * 1024,
  /** Streams of one topic, of all nodes, ever. */
  streamsPerTopic: 8191,
  /** Events of one block of a segment: what is decompressed to read one event. */
  eventsPerBlock: 128,
  /** Bytes of payloads after which a block is full, however few its events are. */
  blockBytes: 128 * 1024,
  /** Events of a merged range of the index: positions in it have 20 bits. */
  mergedRangeEvents: 2 ** 18,
  /** Events of one stream, ever. */
  eventsPerStream: 2 ** 40 - 1,
  /** Bytes of the text of a payload. */
  payloadBytes: 8 * 1024 * 1024,
  /** Tags of one event. */
  tagsPerEvent: 128,
  /** Bytes of a tag. */
  tagBytes: 1024,
  /** Bytes of an app ID. */
  appIdBytes: 256,
  /** Bytes of the name of a topic: 60 characters of at most 4 bytes. */
  topicBytes: 240,
  /** Bytes of a file that become one block. */
  fileChunkBytes: 256 * 1024,
  /** Blocks that one block of a file links to. */
  linksPerBlock: 174,
  /** Bytes of the block of a directory. */
  directoryBytes: 512 * 1024,
} as const
