/** Limits of finding peers, connections and the swarm thread. */
export const swarmLimits = {
  /** Nodes whose addresses are known without a connection to them; initial peers come on top. */
  knownPeers: 1024,
  /** The last failed dials that are kept per peer. */
  dialFailuresPerPeer: 10,
  /** Connections that a node tries to make at the same time. */
  dialsAtOnce: 2,
  /** Milliseconds after which an attempt to connect is given up: long, for a swarm that starts all at once. */
  dialMs: 30_000,
  /** Milliseconds of a round trip at which it is logged as slow. */
  slowPingMs: 1000,
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
  /** Milliseconds for the swarm thread to end when the node stops. */
  swarmStopMs: 4000,
  /** Milliseconds for which a node that stops waits until its peers have stored its newest events. */
  drainMs: 1500,
  /** Milliseconds before the stop in which events count as newest; peers have reported older ones, or lag behind. */
  drainedAppendsMs: 10_000,
  /** Milliseconds for which the sessions of a node that stops still send and receive what waits. */
  stopCloseMs: 1000,
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
  /** Signatures of a peer that may be verified at once without any effect. */
  verificationsInVain: 10_000,
  /** Signatures of a peer that may be verified per second without any effect, for long. */
  verificationsInVainPerSecond: 500,
  /** What such a verification counts if an honest peer could not know better, or was asked. */
  goodFaithVerification: 0.1,
  /** Different new streams that a peer may send in an hour, stored or refused: all that a topic can have. */
  newStreamsPerHour: 8192,
  /** Peers whose use of these budgets is remembered. */
  budgetedPeers: 1024,
  /** Maximum size of a message on the live stream: the heads of a large table. */
  liveMessageBytes: 2 * 1024 * 1024,
  /** Maximum size of a topic that a node names when it connects: 60 characters. */
  openingBytes: 240,
  /** Bytes of messages for a peer that wait to be sent, at which its session is closed: a largest one and others. */
  sessionQueueBytes: 32 * 1024 * 1024,
  /** Bytes that wait on the live stream of a peer, at which new events are left out: a comparison follows as soon as it has caught up. */
  congestedBytes: 1024 * 1024,
  /** Maximum size of the first message of a connection. */
  openingMessageBytes: 4096,
  /** Memory of incomplete messages of a peer at which a session with it is closed: a largest one of each stream. */
  unreadPeerBytes: 28 * 1024 * 1024,
  /** Memory of incomplete messages of all peers at which the session with the largest one is closed. */
  unreadSwarmBytes: 32 * 1024 * 1024,
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
  /** Open connections of other nodes from one remote address, where several nodes may run; not of this machine. */
  swarmConnectionsPerAddress: 64,
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
  /** Milliseconds without another byte of an incomplete message, after which the session is closed. */
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
} as const
