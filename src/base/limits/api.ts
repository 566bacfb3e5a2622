/** Limits of the HTTP and WebSocket API. */
export const apiLimits = {
  /** Maximum number of JSON values in a request. Event payloads are not parsed and do not count. */
  requestValues: 100_000,
  /** Milliseconds of silence after which a streaming HTTP response sends an empty line as keep-alive. */
  keepAliveMs: 15_000,
  /** Maximum size of a WebSocket message. */
  socketMessageBytes: 64 * 1024 * 1024,
  /** Concurrent publish and offset requests per WebSocket; at the limit the socket is not read (backpressure). */
  concurrentSocketRequests: 256,
  /** Unsent bytes per WebSocket client at which its queries are paused (backpressure). */
  socketBacklogBytes: 1024 * 1024,
  /** Milliseconds after which WebSockets are terminated that were closed because the topic is changed. */
  socketRestartMs: 5000,
  /** Maximum number of open connections to the API; less when the limit of open files is low. */
  connections: 10_000,
  /** Maximum number of open connections to the admin port and to the swarm port, each. */
  connectionsPerOtherPort: 1000,
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
} as const
