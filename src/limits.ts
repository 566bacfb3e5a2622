/**
 * Every bound of the node, in one place. Going past one is an error that names it, never a crash and never silent growth.
 */
export const limits = {
  /** Bytes of a settings document as JSON text. */
  settingsDocumentBytes: 1024 * 1024,
  /** Levels of nesting in any JSON document. */
  jsonNesting: 512,
  /** Values in the JSON of a request that is parsed: payloads are not, however many are in them. */
  requestValues: 100_000,
  /** Characters of the path of a setting. */
  scopeLength: 4096,
  /** Events of one frame. */
  eventsPerFrame: 1024,
  /** Events after which this node ends a frame: a frame is a row of the tail, all of which is read for one of its events. */
  eventsPerOwnFrame: 128,
  /** Bytes of labels and payloads after which it ends a frame, however few its events are. */
  ownFrameBytes: 128 * 1024,
  /** Events after which a chunk ends with the next frame. */
  eventsPerCheckpoint: 1024,
  /** Bytes of records after which a chunk ends with the next frame. */
  bytesPerCheckpoint: 1024 * 1024,
  /** Events of one chunk. */
  eventsPerChunk: 2047,
  /** Bytes of one chunk: a full one, and a frame that ends with the largest event. */
  chunkBytes: 12 * 1024 * 1024,
  /** Bytes of records above which a row of the tail is compressed; below, compressing costs more than it saves. */
  compressFromBytes: 16 * 1024,
  /** Streams of one topic, of all nodes, ever. */
  streamsPerTopic: 8191,
  /** Chunks of one stream that are kept until those before them have come. */
  waitingChunks: 64,
  /** Events of one block of a segment: what is decompressed to read one event. */
  eventsPerBlock: 128,
  /** Bytes of payloads after which a block is full, however few its events are. */
  blockBytes: 128 * 1024,
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
  /** Public keys of nodes that are kept ready to verify signatures. */
  cachedVerifiers: 1024,
  /** Bytes of a blob that an app keeps on its node. */
  blobBytes: 10 * 1024 * 1024,
  /** Bytes of such a blob after compression. */
  packedBlobBytes: 1024 * 1024,
  /** Bytes of the form with which files are uploaded. */
  uploadBytes: 128 * 1024 * 1024,
  /** Bytes of files that are moved in a millisecond while events are published: files give way to them. */
  fileBytesPerMs: 64 * 1024,
  /** Uploads that are under way. */
  uploadsTogether: 64,
  /** Files of one upload. */
  filesPerUpload: 20_000,
  /** Directories of one upload. */
  foldersPerUpload: 20_000,
  /** Bytes of the head of one part of a form. */
  partHeadBytes: 16 * 1024,
  /** Bytes of the path of an uploaded file. */
  filePathBytes: 4096,
  /** Bytes of the paths of all files of one upload. */
  pathBytesPerUpload: 4 * 1024 * 1024,
  /** Uploads without a name that are listed, the newest first. */
  uploadsListed: 1000,
  /** Bytes of a name that files are given. */
  fileNameBytes: 255,
  /** Bytes of a file that become one block. */
  fileChunkBytes: 256 * 1024,
  /** Blocks that one block of a file links to. */
  linksPerBlock: 174,
  /** Bytes of the block of a directory. */
  directoryBytes: 512 * 1024,
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
  /** Evicted blocks that are remembered as evicted. */
  evictedBlocks: 100_000,
  /** Milliseconds after which events about files are followed again, when that has failed. */
  followAgainMs: 5000,
  /** Standing queries for files to be kept, one an app. */
  standingQueries: 256,
  /** Files and directories that one standing query keeps. */
  standingQueryResults: 100_000,
  /** Bytes of the text of a query. */
  queryBytes: 1024 * 1024,
  /** Queries and subscriptions that are under way, of all clients. */
  openStreams: 1024,
  /** Bytes that each of them is charged for being there, beside its text and what it holds. */
  openStreamBytes: 16 * 1024,
  /** Bytes that each character of its text is charged: what a query is made into is much longer than its text. */
  openBytesPerCharacter: 100,
  /** Offsets in a bound of a query or subscription: one for each stream of a large swarm. */
  offsetsPerBound: 32_768,
  /** Bytes that each offset of its bounds is charged. */
  openBytesPerOffset: 512,
  /** Queries and subscriptions that are under way on one WebSocket. */
  openStreamsPerSocket: 128,
  /** Requests for offsets that are under way, of all clients. */
  offsetsWaiting: 1024,
  /** Milliseconds without anything to say after which a stream over HTTP says an empty line. */
  keepAliveMs: 15_000,
  /** Messages that go into one message of a WebSocket. */
  messagesPerFrame: 128,
  /** Bytes of one message of a WebSocket. */
  socketMessageBytes: 64 * 1024 * 1024,
  /** Requests of one WebSocket to publish, or for offsets, that are under way at the same time; more are not read. */
  socketRequestsTogether: 256,
  /** Bytes that wait for a client of a WebSocket that does not read; nothing more is read for it until it does. */
  socketBacklogBytes: 1024 * 1024,
  /** Bytes of log text that wait for a reader that does not read; what comes after that is dropped and counted. */
  logBacklogBytes: 1024 * 1024,
  /** Milliseconds after which repeated log lines that clients cause are written as one count. */
  throttledLogMs: 60_000,
  /** Kinds of such lines, of refused requests and of tokens each; what is of other kinds has one count. */
  throttledLogKinds: 32,
  /** Milliseconds that components get to finish their work when the node stops. */
  stopGraceMs: 500,
  /** Milliseconds that the last log lines get to be written when the process ends. */
  logFlushMs: 200,
  /** Open connections to the API; fewer where the limit of open files is low. */
  connections: 10_000,
  /** Open connections to the admin port, and to the swarm port. */
  connectionsOfOtherPorts: 1000,
  /** File descriptors that are not for connections, but for databases, threads and modules: a busy node has 70 of them open. */
  reservedDescriptors: 128,
  /** Connections with which a node starts; with a lower limit of open files it does not. */
  leastConnections: 32,
  /** Connections to the API below which a node warns of a low limit of open files when it starts. */
  fewConnections: 1000,
  /** Open files that are assumed to be possible where the limit cannot be read. */
  assumedOpenFiles: 1024,
  /** Milliseconds after which a thread that could not be started is tried again. */
  threadRetryMs: 1000,
  /** Milliseconds between two log lines about connections that were refused. */
  refusalLogMs: 60_000,
  /** Connections that wait to be accepted, per listener. */
  listenBacklog: 1024,
  /** Milliseconds a client may take to send the head of a request. */
  requestHeadMs: 30_000,
  /** Bytes of the head of a request. */
  requestHeadBytes: 64 * 1024,
  /** Bytes of the body of a request. */
  bodyBytes: 64 * 1024 * 1024,
  /** Bytes that all clients together make the node hold, at most a quarter of the memory of the process; `--memory-limit`. */
  clientMemory: 512 * 1024 * 1024,
  /** The smallest value of `--memory-limit`. */
  leastClientMemory: 16 * 1024 * 1024,
  /** The largest value of `--memory-limit`. */
  mostClientMemory: 64 * 1024 * 1024 * 1024,
  /** Bytes up to which a connection or a query counts as small: the reserve of the account is for these. */
  smallHoldingBytes: 64 * 1024,
  /** Bytes that a connection is charged for being there: its objects, buffers and the request at hand. */
  connectionBytes: 16 * 1024,
  /** Bytes that a WebSocket is charged beside that. */
  socketBytes: 16 * 1024,
  /** Bytes that a message of a WebSocket is charged beside its own, until it is answered. */
  socketRequestBytes: 1024,
  /** Bytes that a further request of the same connection is charged while it waits for the one before it. */
  waitingRequestBytes: 4096,
  /** The same when its body is chunked: tiny chunks take up a multiple of their bytes until they are read. */
  waitingChunkedBytes: 4 * 1024 * 1024,
  /** Bytes that an upload is charged: the parts of it that are on their way to the disk. */
  uploadHeldBytes: 4 * 1024 * 1024,
  /** Bytes that a download is charged at most: the piece that is sent and the one that is read meanwhile. */
  downloadHeldBytes: 512 * 1024,
  /** Milliseconds after which a connection is closed on which nothing moves, although something waits to be sent or received. */
  stalledMs: 120_000,
  /** The same while the memory for clients is nearly used up. */
  stalledUnderPressureMs: 5000,
  /** Bytes that have to move within that time to count as progress. */
  progressBytes: 64 * 1024,
  /** Milliseconds between two looks for connections without progress. */
  connectionAuditMs: 1000,
  /** Bytes of a part of a body below which it counts as small: reading one takes as long as reading thousands of bytes. */
  smallPartBytes: 64,
  /** Small parts of one body, such as chunks of one byte. */
  smallParts: 16_384,
  /** Milliseconds that a client gets to read its answer when the rest of a chunked body is not read. */
  lingerMs: 1000,
  /** Milliseconds between two parts of a body. */
  bodyPauseMs: 30_000,
  /** Milliseconds a client may take to send a whole request. */
  requestMs: 300_000,
  /** Bytes of a JSON text that is parsed at once; of longer ones, one per turn of the event loop. */
  parsedAtOnceBytes: 256 * 1024,
  /** Milliseconds that a connection may be idle between two requests. */
  idleConnectionMs: 65_000,
  /** Bytes of the manifest of an app. */
  manifestBytes: 64 * 1024,
  /** Tokens that are kept as verified. */
  cachedTokens: 1024,
  /** Events of one publish call. */
  eventsPerPublish: 20_000,
  /** Publish calls that wait for the disk. */
  publishesWaiting: 1024,
  /** Bytes of the publish calls that wait for the disk. */
  publishBytesWaiting: 128 * 1024 * 1024,
  /** Bytes of a publish call that are read before other work gets its turn. */
  scanSliceBytes: 1024 * 1024,
  /** Milliseconds between two log lines about something that keeps failing. */
  outageSummaryMs: 60_000,
  /** Milliseconds between two tries to write while the disk fails. */
  diskProbeMs: 5000,
  /** Milliseconds between two tries of background work that failed, and of threads that ended. */
  failureRetryMs: 10_000,
  /** Milliseconds between two looks for events that are beyond the limits of their streams. */
  retentionMs: 30 * 60_000,
  /** Chunks that are pruned in one commit: whoever publishes waits for no more than these. */
  chunksPerPrune: 64,
  /** Microseconds by which the wall clock may be set between two looks before nothing is taken for old. */
  clockJump: 3_600_000_000,
} as const
