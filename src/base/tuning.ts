/**
 * Tuning parameters for speed and memory: batch sizes, caches, time slices. They do not change what a client observes.
 * Sizes are in bytes.
 */
export const tuning = {
  /** Events after which this node ends a frame. A frame is one row of the tail and is read as a whole. */
  eventsPerOwnFrame: 128,
  /** Bytes of labels and payloads after which this node ends a frame, whatever its number of events. */
  ownFrameBytes: 128 * 1024,
  /** Size above which a row of the tail is compressed; below it compression costs more than it saves. */
  compressFromBytes: 16 * 1024,
  /** Batch size of sealing: chunks that are sealed and indexed together. */
  chunksPerSeal: 16,
  /** Backlog of unsealed chunks at which publishing waits for sealing (backpressure): the tail stays short. */
  maxUnsealedChunks: 42,
  /** Maximum size of a group commit; further requests go into the next one. */
  commitBytes: 16 * 1024 * 1024,
  /** Bytes of result lines that a reader thread hands over at a time. */
  pieceBytes: 512 * 1024,
  /** Flow control: unread bytes of results per query before the reader thread pauses it. */
  queryCreditBytes: 2 * 512 * 1024,
  /** Milliseconds between two reports of the progress of a job on a data folder. */
  progressMs: 100,
  /** Time slice of a query in milliseconds, before the scheduler switches to the next one. */
  sliceMs: 10,
  /** Time slice of reads for other nodes in milliseconds, before messages of other nodes are processed. */
  peerReadSliceMs: 4,
  /** Milliseconds for which a count of all blocks of files is shown: counting reads all of them. */
  blockCountMs: 60_000,
  /** Rows of the head table that the swarm thread reads at once. */
  headsPerRead: 128,
  /** Checkpoints of a stream that the swarm thread reads at once. */
  checkpointsPerRead: 256,
  /** Minimum interval of snapshots of the swarm in milliseconds, while something changes. */
  swarmSnapshotMs: 1000,
  /** Interval of snapshots of the swarm in milliseconds, while nothing changes. */
  swarmStatusMs: 10_000,
  /** First time slice of a query while others wait, in milliseconds: most queries finish within it. */
  firstSliceMs: 2,
  /** Milliseconds after which the slice of a long job ends early for a new query or subscription. */
  longSliceMs: 1,
  /** Total run time in milliseconds after which a query is a long job and goes behind the short ones. */
  shortJobMs: 20,
  /** Milliseconds of waiting after which a long job gets a slice, so that it does not starve. */
  starvingMs: 50,
  /** Young generation of a thread's heap in MiB: a scavenge frees buffers that are garbage. */
  youngGenerationMb: 4,
  /** Young generation of the swarm thread in MiB: messages are short-lived. */
  swarmYoungGenerationMb: 8,
  /** Young generation of a reader thread in MiB: queries allocate much, and get slower with less. */
  readerYoungGenerationMb: 8,
  /** Maximum number of reader threads. There is one less than processors, but at least one. */
  maxReaderThreads: 4,
  /** Milliseconds for a reader thread to finish when the node stops. */
  readerStopTimeoutMs: 300,
  /** Milliseconds for the sealer thread to finish its task when the node stops. */
  sealerStopTimeoutMs: 10_000,
  /** Caches of all reader threads together, where the setting `branchCacheSize` does not apply. */
  readerCacheBytes: 64 * 1024 * 1024,
  /** Cache of decompressed rows of the tail, of a reader without threads. */
  tailCacheBytes: 4 * 1024 * 1024,
  /** In-memory index of unsealed events, of a reader without threads. */
  tailIndexBytes: 16 * 1024 * 1024,
  /** Cache of the times of index ranges, per reader thread. */
  timesCacheBytes: 2 * 1024 * 1024,
  /** Cache of decoded blocks, of a reader without threads. */
  blockCacheBytes: 8 * 1024 * 1024,
  /** Index ranges that are merged into one. */
  rangesPerMerge: 8,
  /** Cache of key objects for verifying signatures, one per node. */
  cachedVerifiers: 1024,
  /** Throttle of file transfers while events are published, in bytes per millisecond. */
  fileBytesPerMs: 64 * 1024,
  /** Batch size of an upload: file chunks that are passed between threads together. */
  uploadBatchChunks: 4,
  /** Batches of an upload in flight at which reading from the network is paused (backpressure). */
  uploadBatchesInFlight: 2,
  /** Bytes of small blocks per commit. Large blocks go to slots and do not wait for a commit. */
  blockCommitBytes: 16 * 1024 * 1024,
  /** Bytes of blocks of other nodes per commit. */
  fetchedCommitBytes: 4 * 1024 * 1024,
  /** Written bytes of large blocks at which a background fsync starts: keeps the waits of others short. */
  slotSyncBytes: 1024 * 1024,
  /** Unsynced bytes of large blocks at which writing blocks until the fsync is done (backpressure). */
  maxUnsyncedSlotBytes: 16 * 1024 * 1024,
  /** Cache of decoded directory blocks and inner blocks of large files. */
  linkCacheBytes: 1024 * 1024,
  /** Batch size of eviction: blocks evicted before other work gets a turn. */
  evictionsPerTurn: 64,
  /** Batch size of compaction: large blocks moved before other work gets a turn. */
  movesPerTurn: 16,
  /** Maximum number of protocol messages batched into one WebSocket message. */
  messagesPerFrame: 128,
  /** Size up to which JSON is parsed immediately; of larger texts one is parsed per iteration of the event loop. */
  immediateParseBytes: 256 * 1024,
  /** Cache of verified tokens. */
  cachedTokens: 1024,
  /** Bytes of a publish request that are scanned before other work gets a turn. */
  scanSliceBytes: 1024 * 1024,
  /** Size of the received chunks per commit, between which local appends run. */
  receiveSliceBytes: 1024 * 1024,
  /** Size up to which the swarm thread verifies received chunks itself; larger ones go to the verifier thread. */
  bytesVerifiedAtOnce: 16 * 1024,
  /** Size up to which new events are sent to peers at once; of larger commits only the head is, and the peers ask. */
  pushBytes: 32 * 1024,
  /** Size up to which they are sent at once to peers that have all events before them, compressed. */
  bulkPushBytes: 1024 * 1024,
  /** Bytes of events that a request may be answered with at once. */
  wantBytes: 4 * 1024 * 1024,
  /** Bytes that are passed to a stream at a time, so that others get their turn; with its envelope one noise message. */
  streamSliceBytes: 32 * 1024,
  /** Bytes that a peer may send on a stream before they are read, the least that yamux allows: bounds delay and memory. */
  streamWindowBytes: 256 * 1024,
  /** Size from which on a chunk is compressed for another node. */
  compressMessageFrom: 1024,
  /** Milliseconds in which stored events are gathered before their node is told. */
  reportStoredMs: 500,
  /** Requests for events in flight per peer. */
  wantsPerPeer: 4,
  /** Milliseconds in which connected peers may find each other by themselves before they are introduced. */
  introductionDelayMs: 3000,
  /** Milliseconds in which changes of the connected peers are gathered before the other peers are told. */
  neighboursDelayMs: 500,
  /** Longest delay before events are forwarded, in milliseconds: meanwhile they may come from another peer. */
  forwardDelayMs: 20,
  /** Batch size of pruning: chunks removed per commit, which bounds how long publishing waits. */
  chunksPerPrune: 64,
  /** Batch size of redaction: chunks of which events are redacted per commit, which bounds how long publishing waits. */
  chunksPerRedaction: 4,
} as const
