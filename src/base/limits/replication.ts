/** Limits of the messages by which nodes replicate events. */
export const replicationLimits = {
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
  /** Requests of a peer beyond that, or repeated before they are answered, since its last answer: then it is kept out. */
  excessRequests: 64,
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
  /** Milliseconds without progress after which own streams count as complete, however often peers connect again. */
  ownLongestMs: 60_000,
  /** Number of events or heads that wait to be forwarded, over all streams and peers. */
  forwards: 4096,
  /** Bytes of events that wait to be forwarded, over all streams. Beyond them only heads are forwarded. */
  forwardedBytes: 1024 * 1024,
} as const
