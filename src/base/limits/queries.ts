/** Limits of queries and subscriptions. */
export const queryLimits = {
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
} as const
