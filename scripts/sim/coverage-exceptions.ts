/** A branch of the rules that seeds need not reach. */
export interface CoverageException {
  /** A file, or a folder, which ends with a slash: then the branch may be in any of its files. */
  readonly file: string
  /** How its source begins, or the line in which it begins; empty for the whole file. */
  readonly text: string
  readonly reason: string
}

type Branches = readonly [file: string, ...texts: string[]]

const exceptions: readonly (readonly [reason: string, ...at: Branches[]])[] = [
  ['chunks are received without the head before them, so none waits', ['src/replication/waiting-chunks.ts', '']],
  [
    'chunks are received without the head before them',
    [
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
    ['src/replication/chunk-verification.ts', 'function unlessMalformed'],
    ['src/replication/fork.ts', '&& fromHead(start.head', 'function evidenceOfHeads('],
    ['src/replication/plain-growth.ts', 'if (stream.waitingRoom()'],
  ],
  ['the simulated nodes have no status of other nodes', ['src/replication/peer-status.ts', '']],
  ['no dump is imported', ['src/replication/importing.ts', '']],
  ['a chunk on the chain is known, so only one that waited gets here', ['src/replication/fork.ts', 'if (isOnChain(']],
  [
    'an unknown stream has no chain to compare with',
    [
      'src/replication/chunk-admission.ts',
      'checkpointUpTo: () => undefined',
      'headFrom: () => undefined',
      'frames: () => []',
      'waitingRoom: () =>',
    ],
  ],
  [
    'a chunk with too many events without a checkpoint would need more events than are sent',
    ['src/replication/', "throw new MalformedBytes('a stream has too few checkpoints')", 'if (!fitsChunk('],
  ],
  [
    'a fork has fewer frames than its evidence may have',
    [
      'src/replication/fork-evidence.ts',
      'if (frames.length > maxFrames)',
      'if (writer.length > maxBytes)',
      'if (record.length > maxBytes)',
    ],
  ],
  [
    'every stored chain ends with a head',
    ['src/replication/fork.ts', 'if (own === undefined) return undefined'],
    ['src/replication/stream-heads.ts', 'if (signedHead === undefined)'],
  ],
  [
    'messages are checked when they are decoded',
    ['src/replication/chain-position.ts', 'throw new ShoalError('],
    ['src/replication/serving.ts', 'throw new ShoalError('],
    ['src/replication/prune.ts', 'if (signedHead === undefined ||'],
    ['src/sync/head-table.ts', '?? []'],
  ],
  [
    'only heads of own streams are compared in this way, and this node signs no such head',
    ['src/replication/chain-position.ts', "throw new MalformedBytes('the lamport timestamp"],
  ],
  [
    'everything that is received has a sender',
    ['src/replication/stream-budget.ts', '? undefined', 'if (from === undefined || peer === undefined) return'],
  ],
  ['operators forget only streams of other nodes', ['src/replication/streams.ts', 'throw new ShoalError(']],
  ['an answer with events has a chunk', ['src/sync/answers.ts', 'if (last === undefined) return']],
  [
    'a stream that is forgotten has no open request',
    [
      'src/sync/fork-searches.ts',
      'if (stream === undefined) return []',
      'if (search === undefined || row === undefined)',
    ],
  ],
  [
    'no node loses its own removals: what was removed would come back',
    [
      'src/replication/',
      "return { is: 'hold' }",
      "if (isOwnStream(stream, context)) return { is: 'hold' }",
      'if (isOwnHeld && ',
      'const remove = isOwnHeld ? []',
    ],
    [
      'src/sync/outcomes.ts',
      'if (request !== undefined) catchUp.giveUp(',
      'return stream !== undefined && this.#state.isOwn(stream)',
    ],
  ],
  [
    'no node signs a prune record that contradicts its chain',
    [
      'src/replication/prune.ts',
      "if (count >= pruned && count <= stored && !isSamePlace(place, record)) return { is: 'fork' }",
      "if (!isSamePlace(head, record)) return { is: 'fork' }",
    ],
  ],
  [
    'operators redact and prune only what is there',
    [
      'src/replication/prune.ts',
      'if (known === undefined || !(count > 0',
      'if (count <= known.position.pruned) return undefined',
      'if (place === undefined || !isReplicated(context))',
      'function noCheckpoint(',
    ],
    ['src/replication/redaction.ts', '?? 0', 'throw refusal(', 'function refusal('],
  ],
  [
    'a commit never fails after its frames were collected, and signing never fails',
    [
      'src/replication/appended-frames.ts',
      'if (head === undefined) return []',
      ': [{ ...piece, head, count, records: undefined }]',
      'catch {',
      '} catch {',
    ],
  ],
  [
    'no forked stream is pruned',
    [
      'src/sync/',
      "const prefix = reason === 'pruned' && !claim.areRecordsFetched",
      "return prefix === 'pruned' ?",
      "const prefix = claim.prefix === 'pruned'",
    ],
  ],
  [
    'a stream has fewer records than one answer takes',
    ['src/sync/outcomes.ts', 'else if (next === undefined', '} else {'],
  ],
  [
    'input waits for a shorter time than requests and pings',
    ['src/sync/liveness.ts', 'if (peer.hasWaitingInput)'],
    ['src/sync/sync.ts', 'if (peers.get(request.peer)?.hasWaitingInput'],
  ],
  [
    'the host tells nothing about a connection after its end',
    [
      'src/sync/',
      'if (peer === undefined) return',
      'return peer === undefined ? [] : this.#server.sent(',
      'return request === undefined ? [] : this.#forkSearches.listed(',
      'if (!this.#end(name)) return []',
      'return this.#end(name) ?',
      'if (peer === undefined || peer.serving === 0) return undefined',
      'return peer === undefined ? [] : this.#refuse(',
    ],
  ],
  [
    'for the status of a node',
    ['src/sync/blocks/block-exchange.ts', 'requestsOf('],
    ['src/sync/sync.ts', 'claimsOf(', 'areConnected('],
  ],
  [
    'for the host of a node',
    ['src/sync/sync.ts', 'get isReadOnly()'],
    ['src/sync/blocks/block-exchange.ts', 'get hasPeers()', 'get inProgress()'],
    ['src/sync/blocks/block-fetcher.ts', 'get inProgress()'],
  ],
  ['no message is empty', ['src/sync/blocks/block-messages.ts', 'const kind = bytes[0] ?? 0']],
  ['no node sends a message of that size', ['src/sync/', "throw new MalformedBytes('a message is too large')"]],
  [
    'a swarm of this size is far below the limits of queues',
    [
      'src/sync/',
      'if (this.#waiting.length >= limits.forwards) return',
      'if (!this.#wants.add(cid)) this.#scan.soon(now)',
      'if (this.#bytes + format.fileBlockBytes > limits.servedBlockBytes) break',
      'if (!peer.claims.has(name) && peer.claims.size >= format.streamsPerTopic) return',
      'return peer.unasked > limits.unaskedBlocks ?',
    ],
  ],
  [
    'a swarm of this size is far below the limits of streams',
    ['src/replication/', 'if (limit !== undefined) return'],
    [
      'src/replication/stream-budget.ts',
      'function noRoomForStream(',
      "return 'streamsPerNode'",
      "return 'streamsPerTopic'",
      "return 'otherNodes'",
      "return 'nodesPerPeer'",
      "? 'streamsPerPeer'",
    ],
    [
      'src/sync/',
      '&& !peer.unreported.has(',
      "effects.push(send(peer, { is: 'heads', entries: part",
      '|| stored.has(',
      'if (peer.unreported.size >= ',
    ],
  ],
  ['no file is damaged', ['src/replication/verified-prefix.ts', '']],
  ['several chunks are never received in one call', ['src/replication/given-chunks.ts', '']],
  ['a swarm has fewer heads than are remembered', ['src/sync/known-heads.ts', 'this.#heads.delete(']],
  ['replaced before it is called', ['src/sync/requests.ts', '() => {}']],
  ['peers ask for several chunks', ['src/replication/serving.ts', 'function chunkFrom(']],
  [
    'nothing that leads here is accepted',
    ['src/replication/', 'function tooLarge(', 'return tooLarge(', '? tooLarge('],
  ],
  ['clocks are wrong by at most a year', ['src/replication/streams.ts', 'throw clockError']],
  ['there are too few events for it', ['src/replication/lamport-clock.ts', 'throw new ShoalError(']],
  [
    'publishes are below the limit of unread frames',
    [
      'src/replication/appended-frames.ts',
      'piece.records = undefined',
      'if (piece.records === undefined) return',
      'else join(last, piece)',
      'function join(',
    ],
  ],
  ['frames of the own store, whose chain was verified before', ['src/replication/chain.ts', 'throw new Error(']],
  ['the topic of the simulation is a live one', ['src/replication/', "throw new MalformedBytes('an imported topic"]],
  [
    'no store is of an earlier version',
    [
      'src/replication/prune.ts',
      'const { stream, time } = verifyStoredPrune(',
      'return isOwnStream(stream, context) ? signPrune(',
    ],
  ],
  [
    'an accepted backup is not restarted before it is settled',
    ['src/replication/doubtful-start.ts', 'if (isAccepted)'],
  ],
  ['a file has fewer blocks than are remembered', ['src/sync/blocks/block-peer.ts', 'for (const oldest of']],
  ['a defect', ['src/sync/', "throw new Error('a searched stream is known')", 'throw error']],
]

export const coverageExceptions: readonly CoverageException[] = exceptions.flatMap(([reason, ...at]) =>
  at.flatMap(([file, ...texts]) => texts.map((text) => ({ file, text, reason }))),
)
