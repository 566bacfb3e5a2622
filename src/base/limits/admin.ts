/** Limits of the admin interface: signing in, sessions, log lines. */
export const adminLimits = {
  /** Milliseconds for which a challenge can be used to sign in. */
  challengeMs: 60_000,
  /** Maximum number of used challenges that are remembered until they expire; above it signing in is refused. */
  usedChallenges: 4096,
  /** Milliseconds after which a session ends. */
  sessionMs: 8 * 60 * 60 * 1000,
  /** Maximum number of sessions of a user; a further one ends the oldest. */
  sessionsPerUser: 32,
  /** Maximum number of sessions of all users; a further one ends the oldest. */
  sessions: 1024,
  /** Failed attempts to sign in from an address in a row, before further ones are refused. */
  failedSignIns: 10,
  /** Milliseconds after which an address may fail once more. */
  failedSignInMs: 10_000,
  /** Maximum number of addresses whose failed attempts are counted; above it the oldest one is forgotten. */
  failedSignInSources: 1024,
  /** Maximum size of a request to sign in. */
  signInBytes: 4096,
  /** Maximum number of events in a request to redact them. */
  redactedPerRequest: 1024,
  /** Maximum number of events that one command redacts. */
  redactedPerCommand: 200_000,
  /** Maximum number of log lines that are kept for operators. */
  logLinesKept: 1000,
  /** Maximum number of characters of these lines. */
  logCharactersKept: 1024 * 1024,
  /** Unsent bytes of log lines for an operator who follows them; further lines are left out and counted. */
  logStreamBytes: 2 * 1024 * 1024,
  /** Maximum number of requests to other nodes that are relayed at a time. */
  relayedRequests: 64,
  /** Maximum size of a request to another node. */
  relayedBodyBytes: 2 * 1024 * 1024,
  /** Milliseconds for connecting to another node, and for the head of its answer. */
  relayMs: 10_000,
} as const
