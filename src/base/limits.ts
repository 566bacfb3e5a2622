/**
 * Limits, charges, intervals and timeouts. Exceeding a limit is an error that names it, never a crash and never unbounded
 * growth. Constants of formats are in `format.ts`, tuning parameters in `tuning.ts`. Sizes are in bytes.
 */
export const limits = {
  /** Maximum size of a settings document as JSON text. */
  settingsDocumentBytes: 1024 * 1024,
  /** Maximum number of JSON values in a request. Event payloads are not parsed and do not count. */
  requestValues: 100_000,
  /** Maximum number of revisions in the history of the settings that is shown. */
  revisionsShown: 1000,
  /** Maximum number of open connections to the control socket. */
  controlConnections: 16,
  /** Milliseconds for which a command waits for a node that is starting or stopping. */
  controlWaitMs: 10_000,
  /** Milliseconds for which a command waits for the answer of a running node to a short request. */
  controlAnswerMs: 20_000,
  /** Milliseconds for the same about a request whose duration grows with the size of the store. */
  longControlAnswerMs: 600_000,
  /** Maximum length of a settings scope, in characters. */
  scopeLength: 4096,
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
  unreadFrameBytes: 1024 * 1024,
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
  /** Maximum size of a replication message: the evidence of a fork, which is as large as two chunks, and its envelope. */
  syncMessageBytes: 24 * 1024 * 1024 + 64,
  /** Maximum size of a prune or redaction record. */
  recordBytes: 8 * 1024,
  /** Points of a hash chain that a peer is asked about at a time. */
  pointsPerLocate: 32,
  /** Maximum number of addresses of a node that are passed on. */
  addressesPerNode: 16,
  /** Maximum size of an address. */
  addressBytes: 256,
  /** Requests to peers in flight, over all peers: their answers take memory. */
  wantsInAll: 64,
  /** Bytes of messages of a peer that wait to be stored, above which it is not read (backpressure). */
  inputBytesPerPeer: 8 * 1024 * 1024,
  /** Bytes of messages of a peer that wait to be stored, up to which it is read again. */
  inputLowBytesPerPeer: 2 * 1024 * 1024,
  /** Bytes of messages that wait to be stored, over all peers, above which those that send are not read. */
  inputBytes: 64 * 1024 * 1024,
  /** Bytes of messages that wait to be stored, over all peers, up to which they are read again. */
  inputLowBytes: 32 * 1024 * 1024,
  /** Bytes that may arrive from a peer that is not read: the largest message, and what was received with it. */
  inputBytesSincePause: 32 * 1024 * 1024,
  /** Bytes charged for each message that waits to be stored, in addition to its own. */
  queuedMessageBytes: 1024,
  /** Bytes of messages of peers that the store is given at a time; one may be larger. */
  storingBytes: 32 * 1024 * 1024,
  /** Answers that are read for peers at the same time, over all peers; one per peer. */
  answersAtOnce: 8,
  /** Bytes of answers that are being read for peers, or wait to be sent to congested ones; one may be larger. */
  answerBytes: 64 * 1024 * 1024,
  /** Bytes to which answers are limited while many wait to be sent; a single chunk may be larger. */
  smallAnswerBytes: 1024 * 1024,
  /** Milliseconds after which a peer is pinged from which nothing was heard. */
  pingIdleMs: 20_000,
  /** Pings without any message of a peer after which it is disconnected. */
  unansweredPings: 3,
  /** Milliseconds within which something has to be heard from a peer after a ping, unless the settings say otherwise. */
  pingTimeoutMs: 5000,
  /** Milliseconds by which this node is late that are not counted as silence of its peers: it was suspended. */
  stallMs: 1000,
  /** Milliseconds after which events are tried again that cannot be stored yet: too far ahead, or without a free slot. */
  unstorableRetryMs: 60_000,
  /** Milliseconds after which two nodes with different histories of a stream compare them again. */
  forkSearchRetryMs: 60_000,
  /** Maximum number of nodes in a swarm that a node tells its peers about. */
  swarmNodes: 1024,
  /** Nodes whose addresses are known without a connection to them; initial peers come on top. */
  knownPeers: 1024,
  /** The last failed dials that are kept per peer. */
  dialFailuresPerPeer: 10,
  /** Connections that a node tries to make at the same time. */
  dialsAtOnce: 2,
  /** Milliseconds after which an attempt to connect is given up: long, for a swarm that starts all at once. */
  dialMs: 30_000,
  /** Messages of a peer that may overtake its hello. */
  earlyMessages: 64,
  /** The size of these messages. */
  earlyBytes: 1048576,
  /** Reasons of failed connections that are counted one by one. */
  countedReasons: 32,
  /** Shortest time after which the swarm thread is started again, in milliseconds; doubled each time. */
  minThreadRestartMs: 1000,
  /** Longest time after which the swarm thread is started again, in milliseconds. */
  maxThreadRestartMs: 60_000,
  /** Milliseconds to wait for a snapshot of the swarm. */
  swarmSnapshotTimeoutMs: 1000,
  /** Milliseconds for the swarm thread to say goodbye when the node stops. */
  swarmStopMs: 2000,
  /** Milliseconds without a connection after which the node with the lower ID dials as well. */
  lowerDialsAfterMs: 5000,
  /** Shortest time before an address is dialled again, in milliseconds; doubled with each failure. */
  minRedialMs: 1000,
  /** Longest time before an address is dialled again, in milliseconds. */
  maxRedialMs: 60_000,
  /** Milliseconds after which a connection counts as one that works: the next dial comes at once when it ends. */
  stableSessionMs: 10_000,
  /** Milliseconds without an announcement after which a peer that is announced again is dialled at once. */
  announcedAgainMs: 30_000,
  /** Shortest time for which a peer is kept out that has sent what no honest node sends; doubled each time. */
  minKeepOutMs: 60_000,
  /** Longest time for which a peer is kept out, in milliseconds. */
  maxKeepOutMs: 3_600_000,
  /** Seconds for which discovery events count; the node repeats those of its addresses after half of it. */
  discoverySeconds: 1_000_000,
  /** Published addresses of other nodes that are kept for a swarm thread that is started again. */
  discoveredAddresses: 4096,
  /** Shortest time between two publications of changed addresses, in milliseconds. */
  discoveryPauseMs: 10_000,
  /** Peers that are kept out at the same time. */
  keptOutPeers: 1024,
  /** Maximum number of heads in a replication message; more are sent in several. */
  headsPerMessage: 4096,
  /** Heads of streams that are kept decoded, because all peers send the same ones. */
  knownHeads: 16_384,
  /** Maximum size of a signed head without its topic. */
  headBytes: 256,
  /** Maximum number of features that a node names in its hello. */
  syncFeatures: 32,
  /** Maximum size of the name of a feature. */
  syncFeatureBytes: 64,
  /** Requests for events that a node answers at the same time, per peer. */
  servedPerPeer: 16,
  /** Milliseconds within which a peer has to introduce itself. */
  helloTimeoutMs: 10_000,
  /** Milliseconds without an answer after which a request for events is sent to another peer. */
  wantTimeoutMs: 10_000,
  /** Milliseconds after which a request is given up, although parts of the answer still arrive. */
  longestWantMs: 300_000,
  /** Milliseconds after which a peer that had nothing to send is asked again. */
  wantRetryMs: 2000,
  /** Milliseconds without a connected peer after which own streams count as complete, unless a backup was restored. */
  ownPeerMs: 5000,
  /** Milliseconds within which a connected peer has to tell more about own streams. */
  ownNewsMs: 10_000,
  /** Milliseconds for which a publish waits until own streams are known to be complete. */
  publishWaitMs: 10_000,
  /** Milliseconds between two checks whether the operator has accepted a restored backup, while publishing waits. */
  acceptancePollMs: 500,
  /** Number of events or heads that wait to be forwarded, over all streams and peers. */
  forwards: 4096,
  /** Bytes of events that wait to be forwarded, over all streams. Beyond them only heads are forwarded. */
  forwardedBytes: 1024 * 1024,
  /** Maximum size of a message on the live stream: the heads of a large table. */
  liveMessageBytes: 2 * 1024 * 1024,
  /** Maximum size of a topic that a node names when it connects: 60 characters. */
  openingBytes: 240,
  /** Bytes of messages for a peer that wait to be sent, at which its session is closed: a largest one and others. */
  sessionQueueBytes: 32 * 1024 * 1024,
  /** Bytes that wait on the live stream of a peer, at which new events are left out: it asks for them later. */
  congestedBytes: 1024 * 1024,
  /** Bytes of incomplete messages of all peers, at which the session with the largest one is closed. */
  unreadSwarmBytes: 48 * 1024 * 1024,
  /** Length of the display name of another node, in characters; the rest is cut off. */
  agentLength: 256,
  /** Bytes that wait to be sent below the streams of a connection, at which it is closed. */
  connectionBufferBytes: 8 * 1024 * 1024,
  /** Streams of a connection that are open at the same time, in each direction. */
  streamsPerConnection: 10,
  /** Streams that a peer may open during the life of a connection; a node opens four. */
  streamsOfConnection: 64,
  /** Open connections to other nodes. */
  swarmConnections: 512,
  /** Connections of other nodes that are being set up: all nodes of a site may restart at once. */
  pendingSwarmConnections: 256,
  /** Connections of other nodes that are accepted per second from one address, where several nodes may run. */
  swarmConnectionsPerSecond: 200,
  /** Milliseconds within which the nonces of the swarm key have to be exchanged. */
  swarmKeyTimeoutMs: 5000,
  /** Milliseconds within which a connection has to be encrypted and its streams opened; long for a site that restarts. */
  sessionSetupMs: 30_000,
  /** Milliseconds for which a session waits for the name and addresses of its peer. */
  identifyMs: 5000,
  /** Milliseconds within which a message has to arrive completely. */
  incompleteMessageMs: 60_000,
  /** Milliseconds for which a session that is closed still sends and receives what waits. */
  sessionCloseMs: 5000,
  /** Milliseconds for which the last bytes of a connection may take to be sent, before it is cut. */
  connectionCloseMs: 1000,
  /** Milliseconds between two checks whether the sessions make progress. */
  sessionCheckMs: 5000,
  /** Milliseconds between two announcements of a node on the local network. */
  mdnsIntervalMs: 10_000,
  /** Shortest time between two answers to queries on the local network, in milliseconds. */
  mdnsAnswerMs: 1000,
  /** Packets of multicast DNS that are read per interval; most belong to other programs. */
  mdnsPackets: 5000,
  /** Maximum size of a packet of multicast DNS that is read. */
  mdnsPacketBytes: 9000,
  /** Maximum size of a message of the exchange of blocks: a block of 512 KiB and its envelope. */
  exchangeMessageBytes: 512 * 1024 + 128,
  /** Maximum size of a content identifier in a message; those of blocks have 36 bytes. */
  cidBytes: 64,
  /** Maximum number of content identifiers in a message. */
  cidsPerMessage: 256,
  /** Wanted blocks that are listed at a time, and those that become wanted by one block and are asked for at once. */
  wantsPerList: 128,
  /** Wanted blocks that a node considers at the same time; the store lists further ones later. */
  consideredWants: 512,
  /** Downloads of blocks from other nodes in progress, per peer; each may bring a block of 512 KiB. */
  blockRequestsPerPeer: 16,
  /** Downloads of blocks from other nodes in progress, over all peers: at most 32 MiB. */
  blockRequests: 64,
  /** Answers of a peer to later requests after which a request for a block counts as not answered. */
  overtakenBlockRequests: 64,
  /** Requests for blocks of one peer that wait to be answered; a peer with more is disconnected. */
  blockRequestsServed: 64,
  /** Bytes of blocks that are being read for one peer or wait to be sent to it. */
  servedBlockBytesPerPeer: 1024 * 1024,
  /** Bytes of blocks that are being read for peers or wait to be sent, over all peers. */
  servedBlockBytes: 16 * 1024 * 1024,
  /** Blocks that a peer has said that it has or does not have, or has asked for in vain, that a node remembers, each. */
  rememberedBlocksPerPeer: 4096,
  /** Milliseconds after which a peer that did not have a block may be asked for it again. */
  blockNotHereMs: 30_000,
  /** Shortest pause of requests to a peer after a request has timed out, in milliseconds; doubled each time. */
  minBlockPauseMs: 1000,
  /** Longest pause of requests to a peer that does not answer, in milliseconds. */
  maxBlockPauseMs: 60_000,
  /** Shortest time between two searches for wanted blocks when there may be new ones, in milliseconds. */
  newWantScanMs: 100,
  /** Shortest interval between two searches for all wanted blocks, in milliseconds; doubled while none arrives. */
  minWantScanMs: 1000,
  /** Longest interval between two searches for all wanted blocks, in milliseconds. */
  maxWantScanMs: 300_000,
  /** Milliseconds after which fetching is tried again when the store has failed or the disk was full. */
  blockStoreRetryMs: 10_000,
  /** Free disk space below which no blocks of other nodes are fetched; on small disks a twentieth of the disk. */
  diskReserveBytes: 1024 * 1024 * 1024,
  /** Blocks for which downloads wait at the same time; further downloads of missing content fail at once. */
  awaitedBlocks: 256,
  /** Maximum size of a blob that an app stores on its node. */
  blobBytes: 10 * 1024 * 1024,
  /** Maximum size of a blob after compression. */
  compressedBlobBytes: 1024 * 1024,
  /** Maximum size of the multipart body of a file upload. */
  uploadBytes: 128 * 1024 * 1024,
  /** Maximum number of concurrent uploads. */
  concurrentUploads: 64,
  /** Maximum number of files in an upload. */
  filesPerUpload: 20_000,
  /** Maximum number of directories in an upload. */
  foldersPerUpload: 20_000,
  /** Maximum size of the headers of a multipart part. */
  partHeaderBytes: 16 * 1024,
  /** Maximum size of the path of an uploaded file. */
  filePathBytes: 4096,
  /** Maximum size of all file paths of an upload together. */
  pathBytesPerUpload: 4 * 1024 * 1024,
  /** Maximum number of unnamed uploads in a listing, newest first. */
  uploadsListed: 1000,
  /** Maximum size of a file name. */
  fileNameBytes: 255,
  /** Maximum number of evicted blocks that the store remembers. */
  evictedBlocks: 100_000,
  /** Milliseconds before the subscription to file events is retried after a failure. */
  resubscribeMs: 5000,
  /** Maximum number of standing queries that pin files, one per app. */
  standingQueries: 256,
  /** Maximum number of files and directories that one standing query pins. */
  standingQueryResults: 100_000,
  /** Maximum size of the text of a query. */
  queryBytes: 1024 * 1024,
  /** Maximum number of open queries and subscriptions, over all clients. */
  openQueries: 1024,
  /** Bytes charged for each open query or subscription, in addition to its text and the results it holds. */
  openQueryBytes: 16 * 1024,
  /** Bytes charged per character of query text: the compiled query is much larger than its text. */
  openBytesPerCharacter: 100,
  /** Maximum number of offsets in a bound of a query: one per stream of a large swarm. */
  offsetsPerBound: 32_768,
  /** Bytes charged per offset in the bounds of a query. */
  openBytesPerOffset: 512,
  /** Maximum number of open queries and subscriptions per WebSocket. */
  openQueriesPerSocket: 128,
  /** Maximum number of pending offset requests, over all clients. */
  pendingOffsetRequests: 1024,
  /** Milliseconds of silence after which a streaming HTTP response sends an empty line as keep-alive. */
  keepAliveMs: 15_000,
  /** Maximum size of a WebSocket message. */
  socketMessageBytes: 64 * 1024 * 1024,
  /** Concurrent publish and offset requests per WebSocket; at the limit the socket is not read (backpressure). */
  concurrentSocketRequests: 256,
  /** Unsent bytes per WebSocket client at which its queries are paused (backpressure). */
  socketBacklogBytes: 1024 * 1024,
  /** Unsent bytes of log text for a slow reader; further lines are dropped and counted. */
  logBacklogBytes: 1024 * 1024,
  /** Milliseconds between summaries of repeated log lines that clients cause. */
  throttledLogMs: 60_000,
  /** Kinds of such lines that are throttled separately; all other kinds share one count. */
  throttledLogKinds: 32,
  /** Grace period for components to finish when the node stops, in milliseconds. */
  stopGraceMs: 500,
  /** Milliseconds to flush the last log lines when the process exits. */
  logFlushMs: 200,
  /** Maximum number of open connections to the API; less when the limit of open files is low. */
  connections: 10_000,
  /** Maximum number of open connections to the admin port and to the swarm port, each. */
  connectionsPerOtherPort: 1000,
  /** File descriptors reserved for databases, threads and modules; a busy node has 70 of them open. */
  reservedDescriptors: 128,
  /** Minimum number of possible connections; a node with a lower limit of open files does not start. */
  minConnections: 32,
  /** Number of possible API connections below which a node warns at startup about the limit of open files. */
  warnBelowConnections: 1000,
  /** Limit of open files that is assumed where it cannot be read. */
  assumedOpenFiles: 1024,
  /** Milliseconds before a thread that could not be started is retried. */
  threadRetryMs: 1000,
  /** Milliseconds between two log lines about refused connections. */
  refusalLogMs: 60_000,
  /** Accept backlog of a listening socket: connections that are not accepted yet. */
  listenBacklog: 1024,
  /** Timeout for receiving the request headers, in milliseconds. */
  requestHeadTimeoutMs: 30_000,
  /** Maximum size of the request headers. */
  requestHeadBytes: 64 * 1024,
  /** Maximum size of a request body. */
  bodyBytes: 64 * 1024 * 1024,
  /** Memory that all clients together may use, capped at a quarter of the process memory; `--memory-limit`. */
  clientMemory: 512 * 1024 * 1024,
  /** Minimum value of `--memory-limit`. */
  minClientMemory: 16 * 1024 * 1024,
  /** Maximum value of `--memory-limit`. */
  maxClientMemory: 64 * 1024 * 1024 * 1024,
  /** Bytes up to which a connection or query is small: only small ones may use the memory reserve. */
  smallHoldingBytes: 64 * 1024,
  /** Bytes charged for a connection: its objects, its buffers and the current request. */
  connectionBytes: 16 * 1024,
  /** Additional bytes charged for a WebSocket. */
  socketBytes: 16 * 1024,
  /** Bytes charged for a WebSocket message in addition to its size, until the request is processed. */
  socketRequestBytes: 1024,
  /** Bytes charged for a pipelined request while the one before it is handled. */
  pipelinedRequestBytes: 4096,
  /** The same with chunked transfer encoding: tiny HTTP chunks occupy a multiple of their size until they are read. */
  pipelinedChunkedBytes: 4 * 1024 * 1024,
  /** Bytes charged for an upload: the parts that are in flight to the disk. */
  uploadHeldBytes: 4 * 1024 * 1024,
  /** Maximum bytes charged for a download: the piece being sent and the one being read ahead. */
  downloadHeldBytes: 512 * 1024,
  /** Timeout for a stalled connection: data is pending, but there is no progress. In milliseconds. */
  stalledMs: 120_000,
  /** The same timeout under memory pressure. */
  stalledUnderPressureMs: 5000,
  /** Bytes that have to move within that timeout to count as progress. */
  progressBytes: 64 * 1024,
  /** Interval of the check for stalled connections, in milliseconds. */
  connectionAuditMs: 1000,
  /** Size below which a chunk of a body is small: its overhead equals that of reading thousands of bytes. */
  smallBodyChunkBytes: 64,
  /** Maximum number of small chunks in a body, such as HTTP chunks of one byte. */
  smallBodyChunks: 16_384,
  /** Milliseconds for a client to read the response before the unread rest of a chunked body is cut off. */
  lingerMs: 1000,
  /** Idle timeout of a request body, in milliseconds. */
  bodyTimeoutMs: 30_000,
  /** Timeout for receiving a whole request, in milliseconds. */
  requestTimeoutMs: 300_000,
  /** Keep-alive timeout of an idle connection, in milliseconds. */
  idleConnectionMs: 65_000,
  /** Maximum size of an app manifest. */
  manifestBytes: 64 * 1024,
  /** Maximum number of events in a publish request. */
  eventsPerPublish: 20_000,
  /** Maximum number of publish requests in the write queue. */
  queuedPublishes: 1024,
  /** Maximum size of all publish requests in the write queue together. */
  queuedPublishBytes: 128 * 1024 * 1024,
  /** Milliseconds between two log lines about the same ongoing failure. */
  outageSummaryMs: 60_000,
  /** Milliseconds between two probe writes while the disk fails. */
  diskProbeMs: 5000,
  /** Milliseconds between two retries of failed background work and of threads that have ended. */
  failureRetryMs: 10_000,
  /** Batch size of copying facts out of a stream with limits, in events. */
  factsPerCopy: 1000,
  /** Steps in the history of what the swarm had, by which the status of nodes is found. */
  peerStatusHistory: 64,
  /** Longest interval of pruning events beyond the retention limits, in milliseconds. */
  maxRetentionMs: 60_000,
  /** Shortest interval of pruning events beyond the retention limits, in milliseconds. */
  minRetentionMs: 1000,
  /** Microseconds by which the wall clock may jump between two runs before pruning by age is suspended. */
  clockJump: 3_600_000_000,
  /** Milliseconds for which pruning by age is suspended after the wall clock has jumped. */
  clockSettleMs: 30 * 60_000,
} as const
