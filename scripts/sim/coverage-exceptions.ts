/** A branch of the rules that seeds need not reach. */
export interface CoverageException {
  /** A file, or a folder, which ends with a slash: then the branch may be in any of its files. */
  readonly file: string
  /** How its source begins; without it the whole file. */
  readonly text?: string
  readonly reason: string
}

const replication = 'src/replication/'
const sync = 'src/sync/'

const exceptions: readonly (readonly [reason: string, file: string, ...texts: string[]])[] = [
  ['chunks are received without the head before them, so none waits', 'src/replication/waiting-chunks.ts', ''],
  [
    'chunks are received without the head before them, so none waits',
    'src/replication/chunk-admission.ts',
    'const { chunk } = next',
    '|| stream === undefined',
    '({ chunk }) => ',
    '|| chunk.first === 0',
    'return { chunk, start: ',
    'const waiting = {',
    '{\n    const evidence = evidenceOfHeads(other.signedBefore, before)',
    ": answer('gap')",
    '{\n    const evidence = evidenceAgainst({ chunk, start:',
  ],
  [
    'chunks are received without the head before them',
    'src/replication/chunk-verification.ts',
    'function unlessMalformed',
  ],
  [
    'chunks are received without the head before them',
    'src/replication/fork.ts',
    '&& fromHead(start.head',
    'function evidenceOfHeads(',
  ],
  ['the simulated nodes have no status of other nodes', 'src/replication/peer-status.ts', ''],
  ['no dump is imported', 'src/replication/importing.ts', ''],
  ['no file is damaged', 'src/replication/verified-prefix.ts', ''],
  ['several chunks are never received in one call', 'src/replication/given-chunks.ts', ''],
  ['no stream is forgotten', 'src/replication/streams.ts', 'function requireForgettable('],
  ['no stream is forgotten', 'src/replication/stream-budget.ts', 'remove(', '#return('],
  ['no stream is forgotten', 'src/sync/sync.ts', 'forgot('],
  ['no stream is forgotten', 'src/sync/requests.ts', 'ofStream('],
  ['no stream is forgotten', 'src/sync/head-table.ts', 'delete('],
  ['the simulated processes never stand still', 'src/sync/sync.ts', '{\n      this.#liveness.stalled('],
  ['the simulated processes never stand still', 'src/sync/requests.ts', 'stalled('],
  ['the simulated processes never stand still', 'src/sync/liveness.ts', 'stalled('],
  ['a swarm has fewer heads than are remembered', 'src/sync/known-heads.ts', 'this.#heads.delete('],
  ['a stream has fewer checkpoints than are compared at once', 'src/sync/fork-searches.ts', 'return Array.from('],
  ['replaced before it is called', 'src/sync/requests.ts', '() => {}'],
  ['for tests', 'src/sync/head-table.ts', '() => true'],
  ['for the status of a node', 'src/sync/sync.ts', 'rows()', 'claimsOf(', 'areConnected('],
  ['for the store and for operators, not for the exchange', 'src/replication/head-digest.ts', 'get size()', 'delete('],
  ['peers ask for several chunks', 'src/replication/serving.ts', 'function chunkFrom('],
  ['nothing that leads here is accepted', replication, 'function tooLarge(', 'return tooLarge(', '? tooLarge('],
  ['clocks are wrong by at most a year', 'src/replication/streams.ts', 'throw clockError'],
  ['there are too few events for it', 'src/replication/lamport-clock.ts', 'throw new ShoalError('],
  [
    'a swarm of this size is far below the limits of streams',
    'src/replication/stream-budget.ts',
    'function noRoomForStream(',
    "return 'streamsPerNode'",
    "return 'streamsPerTopic'",
    "return 'otherNodes'",
    "return 'nodesPerPeer'",
    "? 'streamsPerPeer'",
  ],
  ['a swarm of this size is far below the limits of streams', sync, '&& !peer.unreported.has(', '|| stored.has('],
  ['publishes are below the limit of unread frames', 'src/replication/appended-frames.ts', 'piece.records = undefined'],
  [
    'operators redact and prune only what is there',
    'src/replication/redaction.ts',
    'throw refusal(',
    'function refusal(',
  ],
  ['frames of the own store, whose chain was verified before', 'src/replication/chain.ts', 'throw new Error('],
  ['the topic of the simulation is a live one', replication, "throw new MalformedBytes('an imported topic"],
  ['no store is of an earlier version', 'src/replication/prune.ts', 'const { stream, time } = verifyStoredPrune('],
  ['no backup is restored with its mark', 'src/replication/doubtful-start.ts', "return 'restored'"],
  ['for the operator who accepts a backup', 'src/replication/own-streams-check.ts', 'accepted('],
  ['for the status of a node', 'src/replication/own-streams-check.ts', 'get doubt()', 'get mayAdopt()', 'get wanted()'],
  ['for the host of a node', 'src/sync/blocks/block-exchange.ts', 'get hasPeers()', 'get inProgress()'],
  ['for the host of a node', 'src/sync/blocks/block-fetcher.ts', 'get inProgress()'],
  ['for tests', 'src/sync/blocks/block-peer.ts', 'get size()'],
  ['a file has fewer blocks than are remembered', 'src/sync/blocks/block-peer.ts', 'for (const oldest of'],
  ['no node sends a message of that size', sync, "throw new MalformedBytes('a message is too large')"],
  ['a defect', sync, "throw new Error('a searched stream is known')", 'throw error'],
]

export const coverageExceptions: readonly CoverageException[] = exceptions.flatMap(([reason, file, ...texts]) =>
  texts.map((text) => ({ file, text, reason })),
)
