/**
 * Numbers that make the node faster or smaller, and change nothing else: a client cannot tell.
 */
export const tuning = {
  /** Events after which this node ends a frame: a frame is a row of the tail, all of which is read for one of its events. */
  eventsPerOwnFrame: 128,
  /** Bytes of labels and payloads after which it ends a frame, however few its events are. */
  ownFrameBytes: 128 * 1024,
  /** Bytes of records above which a row of the tail is compressed; below, compressing costs more than it saves. */
  compressFromBytes: 16 * 1024,
  /** Different labels of events whose stream is kept ready while events are published. */
  knownLabels: 8192,
  /** Chunks that are sealed and indexed together. */
  chunksPerSeal: 16,
  /** Chunks that wait before any are sealed while events are published without a pause: sealing takes time from that. */
  chunksBeforeSeal: 24,
  /** Chunks that wait to be sealed before whoever appends has to wait for them: the tail stays short. */
  chunksBehind: 42,
  /** Bytes of memory through which small requests go to the writer; what finds no room goes as a message. */
  mailboxBytes: 512 * 1024,
  /** Bytes of a request that is small. */
  letterBytes: 32 * 1024,
  /** Bytes of requests that go into one commit; what comes after that goes into the next. */
  commitBytes: 16 * 1024 * 1024,
  /** Bytes of lines that a reader hands over at a time. */
  pieceBytes: 512 * 1024,
  /** Bytes of memory of pieces that a reader keeps for the next ones. */
  sparePieceBytes: 2 * 1024 * 1024,
  /** Bytes of lines of one query that wait for whoever reads it. */
  bytesAhead: 2 * 512 * 1024,
  /** Milliseconds that one query may take before it is another one's turn. */
  sliceMs: 10,
  /** Milliseconds of the first slice of a query while others wait: most end in it. */
  firstSliceMs: 2,
  /** Milliseconds that a query may run, of all its slices together, before it goes behind those that have not. */
  shortJobMs: 20,
  /** Milliseconds after which one of those gets a slice all the same. */
  starvingMs: 50,
  /** Mebibytes of young objects of a thread: buffers that nobody needs any more are only seen when these are gone through. */
  youngGenerationMb: 4,
  /** Mebibytes of young objects of the thread that reads: queries make many objects, and with less they take longer. */
  readerYoungGenerationMb: 8,
  /** Milliseconds that the thread that reads gets to end what it does when the node stops. */
  readersStopMs: 300,
  /** Bytes of the tail that a reader keeps decompressed. */
  tailCacheBytes: 4 * 1024 * 1024,
  /** Bytes of blocks that a reader keeps ready to be used. */
  blockCacheBytes: 8 * 1024 * 1024,
  /** Ranges of the index that become one. */
  rangesPerMerge: 8,
  /** Public keys of nodes that are kept ready to verify signatures. */
  cachedVerifiers: 1024,
  /** Bytes of files that are moved in a millisecond while events are published: files give way to them. */
  fileBytesPerMs: 64 * 1024,
  /** Chunks of one upload that go from one thread to another together. */
  chunksTogether: 4,
  /** How often chunks of one upload are on their way before more is taken from the network. */
  chunksAhead: 2,
  /** Bytes of small blocks that go into one commit; large ones have slots, and wait for none. */
  blockCommitBytes: 16 * 1024 * 1024,
  /** Bytes of large blocks that are written before the disk is asked to begin with them: others who need it wait for no more. */
  slotBytesAhead: 1024 * 1024,
  /** Bytes of large blocks by which the disk may fall behind before nothing more is written. */
  slotBytesBehind: 16 * 1024 * 1024,
  /** Bytes of blocks of directories and large files that are kept ready to be used. */
  linkCacheBytes: 1024 * 1024,
  /** Blocks that are evicted before other work gets its turn. */
  evictionsPerTurn: 64,
  /** Large blocks that are moved, to give room back to the disk, before other work gets its turn. */
  movesPerTurn: 16,
  /** Messages that go into one message of a WebSocket. */
  messagesPerFrame: 128,
  /** Bytes of a JSON text that is parsed at once; of longer ones, one per turn of the event loop. */
  parsedAtOnceBytes: 256 * 1024,
  /** Tokens that are kept as verified. */
  cachedTokens: 1024,
  /** Bytes of a publish call that are read before other work gets its turn. */
  scanSliceBytes: 1024 * 1024,
  /** Chunks that are pruned in one commit: whoever publishes waits for no more than these. */
  chunksPerPrune: 64,
} as const
