/**
 * What is refused, and how long something may take. Going past one is an error that names it, never a crash and never silent
 * growth. Numbers of formats are in `format.ts`, those that only change the speed in `tuning.ts`.
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
  /** Chunks of one stream that are kept until those before them have come. */
  waitingChunks: 64,
  /** Bytes of a blob that an app keeps on its node. */
  blobBytes: 10 * 1024 * 1024,
  /** Bytes of such a blob after compression. */
  packedBlobBytes: 1024 * 1024,
  /** Bytes of the form with which files are uploaded. */
  uploadBytes: 128 * 1024 * 1024,
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
  /** Milliseconds that a connection may be idle between two requests. */
  idleConnectionMs: 65_000,
  /** Bytes of the manifest of an app. */
  manifestBytes: 64 * 1024,
  /** Events of one publish call. */
  eventsPerPublish: 20_000,
  /** Publish calls that wait for the disk. */
  publishesWaiting: 1024,
  /** Bytes of the publish calls that wait for the disk. */
  publishBytesWaiting: 128 * 1024 * 1024,
  /** Milliseconds between two log lines about something that keeps failing. */
  outageSummaryMs: 60_000,
  /** Milliseconds between two tries to write while the disk fails. */
  diskProbeMs: 5000,
  /** Milliseconds between two tries of background work that failed, and of threads that ended. */
  failureRetryMs: 10_000,
  /** Milliseconds between two looks for events that are beyond the limits of their streams. */
  retentionMs: 30 * 60_000,
  /** Microseconds by which the wall clock may be set between two looks before nothing is taken for old. */
  clockJump: 3_600_000_000,
} as const
