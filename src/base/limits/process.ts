/** Limits of the process: settings, control socket, log, open files, failures. */
export const processLimits = {
  /** Maximum size of a settings document as JSON text. */
  settingsDocumentBytes: 1024 * 1024,
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
  /** Maximum size of the answer of a node to a command that has not signed in yet. */
  signInAnswerBytes: 64 * 1024,
  /** Maximum size of the answer of a node to a command. */
  commandAnswerBytes: 64 * 1024 * 1024,
  /** Maximum size of a line of an answer that a command processes line by line. */
  answerLineBytes: 128 * 1024 * 1024,
  /** Maximum length of a settings scope, in characters. */
  scopeLength: 4096,
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
  /** Milliseconds between two log lines about the same ongoing failure. */
  outageSummaryMs: 60_000,
  /** Milliseconds between two probe writes while the disk fails. */
  diskProbeMs: 5000,
  /** Milliseconds between two retries of failed background work and of threads that have ended. */
  failureRetryMs: 10_000,
  /** Milliseconds before a topic that could not be opened is opened again. */
  topicRetryMs: 10_000,
} as const
