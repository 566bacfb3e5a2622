/** Limits of storing events: publishing, receiving chunks, serving them, retention. */
export const eventLimits = {
  /** Maximum number of out-of-order chunks that are kept per stream until the gap before them is filled. */
  waitingChunks: 64,
  /** Maximum number of chunks that are received together. */
  receivedChunks: 64,
  /** Maximum size of chunks that are received together: one of the largest, or many small ones. */
  receivedBytes: 16 * 1024 * 1024,
  /** Maximum size of chunks that wait to be verified and stored, over all calls. */
  pendingReceivedBytes: 64 * 1024 * 1024,
  /** Streams whose last received hash is kept, so that their next chunk is verified without the store. */
  linkedStreams: 4096,
  /** Other nodes with streams in a topic. */
  otherNodes: 1024,
  /** Other nodes that one peer may introduce: at least the size of a swarm that is reached through one peer. */
  nodesPerPeer: 256,
  /** Streams of other nodes that one peer may introduce: a quarter of a topic. */
  streamsPerPeer: 2048,
  /** Maximum size of the chunks that are read for another node at a time; a single chunk may be larger. */
  servedBytes: 4 * 1024 * 1024,
  /** Maximum number of chunks that are read for another node at a time. */
  servedChunks: 64,
  /** Maximum size of frames of own commits that replication has not taken yet; further commits are only announced. */
  unreadFrameBytes: 4 * 1024 * 1024,
  /** Redaction records kept per stream for events that were not received yet. */
  expectedRedactions: 1024,
  /** Events per stream that are redacted by these records. */
  expectedRedactedEvents: 8192,
  /** Maximum number of redaction records that are applied or read together. */
  redactionsPerCall: 256,
  /** Maximum size of the waiting chunks of a stream: several of the largest ones. */
  waitingBytes: 32 * 1024 * 1024,
  /** Maximum number of waiting chunks of all streams together. */
  waitingChunksInAll: 1024,
  /** Maximum size of the waiting chunks of all streams together. */
  waitingBytesInAll: 256 * 1024 * 1024,
  /** Milliseconds for which a publish waits until own streams are known to be complete. */
  publishWaitMs: 10_000,
  /** Milliseconds between two checks whether the operator has accepted a restored backup, while publishing waits. */
  acceptancePollMs: 500,
  /** Maximum number of events in a publish request. */
  eventsPerPublish: 20_000,
  /** Maximum number of publish requests in the write queue. */
  queuedPublishes: 1024,
  /** Maximum size of all publish requests in the write queue together. */
  queuedPublishBytes: 128 * 1024 * 1024,
  /** Batch size of copying facts out of a stream with limits, in events. */
  factsPerCopy: 1000,
  /** Steps in the history of what the swarm had, by which the status of nodes is found. */
  peerStatusHistory: 64,
  /** Longest interval of pruning events beyond the retention limits, in milliseconds. */
  maxRetentionMs: 60_000,
  /** Shortest interval of pruning events beyond the retention limits, in milliseconds. */
  minRetentionMs: 1000,
  /** Microseconds by which the wall clock may differ from elapsed time, before ages are corrected by the difference. */
  clockJump: 3_600_000_000,
  /** Milliseconds for which pruning by age is suspended after a start at which the wall clock has jumped. */
  clockSettleMs: 30 * 60_000,
  /** Longest interval of saving what the wall clock shows, in milliseconds. */
  clockSaveMs: 10 * 60_000,
  /** Maximum number of remembered eras of the wall clock. */
  clockEras: 32,
} as const
