/** The memory of clients, and what each of them is charged. */
export const memoryLimits = {
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
} as const
