/**
 * Every bound of the node, in one place. Going past one is an error that names it, never a crash and never silent growth.
 */
export const limits = {
  /** Bytes of a settings document as JSON text. */
  settingsDocumentBytes: 1024 * 1024,
  /** Levels of nesting in any JSON document. */
  jsonNesting: 512,
  /** Characters of the path of a setting. */
  scopeLength: 4096,
  /** Bytes of log text that wait for a reader that does not read; what comes after that is dropped and counted. */
  logBacklogBytes: 1024 * 1024,
  /** Milliseconds that components get to finish their work when the node stops. */
  stopGraceMs: 500,
  /** Milliseconds that the last log lines get to be written when the process ends. */
  logFlushMs: 200,
  /** Open connections per listener. */
  connections: 10_000,
  /** Connections that wait to be accepted, per listener. */
  listenBacklog: 1024,
  /** Milliseconds a client may take to send the head of a request. */
  requestHeadMs: 30_000,
  /** Bytes of the head of a request. */
  requestHeadBytes: 64 * 1024,
} as const
