/** A change of the source that breaks a rule, which the simulator has to find. */
export interface PlantedBug {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly replace: string
}

/** Each is one mistake that is easy to make. The product has no switch for them: they are made in a copy. */
export const plantedBugs: readonly PlantedBug[] = [
  {
    name: 'a digest that leaves streams out',
    file: 'src/sync/head-table.ts',
    find: '    else this.#digest.set({',
    replace: '    else if (stream.number !== 1) this.#digest.set({',
  },
  {
    name: 'a stream that stays busy when a request for it has ended',
    file: 'src/sync/requests.ts',
    find: '    this.#busy.delete(request.name)\n',
    replace: '',
  },
  {
    name: 'a request that is never repeated',
    file: 'src/sync/requests.ts',
    find: 'filter(({ deadline }) => deadline <= now)',
    replace: 'filter(({ deadline }) => deadline < 0)',
  },
  {
    name: 'a request from one offset too far on',
    file: 'src/sync/next-step.ts',
    find: "claim.pruned <= count ? { want: 'events', from: count } : undefined",
    replace: "claim.pruned <= count ? { want: 'events', from: count + 1 } : undefined",
  },
  {
    name: 'a clock that does not follow received events',
    file: 'src/replication/lamport-clock.ts',
    find: '    this.#next = Math.max(this.#next, lamport + 1)\n',
    replace: '',
  },
  {
    name: 'a signature that is not checked',
    file: 'src/protocol/signed.ts',
    find: "      throw new MalformedBytes('the signature is invalid')",
    replace: '      return value',
  },
  {
    name: 'events that only the first neighbours get',
    file: 'src/sync/message-handler.ts',
    find: "    return [send(peer.name, { is: 'buckets', digests: table.buckets() })]",
    replace: '    return []',
  },
  {
    name: 'a head table that is behind the store',
    file: 'src/sync/outcomes.ts',
    find: '    this.#state.table.set(row)\n',
    replace: '    this.#state.table.set({ ...row, count: Math.max(0, row.count - 1) })\n',
  },
  {
    name: 'redactions that are not compared',
    file: 'src/sync/next-step.ts',
    find: "  return claim.areRecordsFetched ? undefined : { want: 'records', from: pruned, to: count }",
    replace: '  return undefined',
  },
  {
    name: 'a prune record that is not asked for',
    file: 'src/sync/next-step.ts',
    find: '  if (claim.pruned > pruned && !claim.areRecordsFetched)\n',
    replace: '  if (claim.pruned > pruned && claim.pruned < 0)\n',
  },
  {
    name: 'a redaction that is not applied to events that come later',
    file: 'src/replication/chunk-admission.ts',
    find: '  const kept = withoutPayloads(added, redacted)\n',
    replace: '  const kept = added\n',
  },
  {
    name: 'chunks that are sent without their redaction records',
    file: 'src/sync/answers.ts',
    find: "      ...records.map((part) => ({ is: 'records' as const, id, ...part })),\n",
    replace: '',
  },
  {
    name: 'chunks that are forwarded without their redaction records',
    file: 'src/sync/outcomes.ts',
    find: 'return want === undefined && firstOffsetOf',
    replace: 'return firstOffsetOf',
  },
  {
    name: 'chunks that are forwarded with parts that were not verified',
    file: 'src/sync/outcomes.ts',
    find: ' && firstOffsetOf(chunk) === known',
    replace: '',
  },
  {
    name: 'a prune that removes one event too many',
    file: 'src/store/memory/memory-stream.ts',
    find: '      for (const place of kept.keys()) if (place < count) kept.delete(place)',
    replace: '      for (const place of kept.keys()) if (place <= count) kept.delete(place)',
  },
  {
    name: 'evidence of a fork that is not asked for',
    file: 'src/sync/next-step.ts',
    find: "  if (claim.isFrozen) return whose === 'own' ? { want: 'evidence' } : stepOfFrozen(claim, count)",
    replace: '  if (claim.isFrozen) return undefined',
  },
  {
    name: 'events before a fork that are not asked for',
    file: 'src/sync/next-step.ts',
    find: "  if (prefix === 'wanted') return { want: 'events', from: count }\n",
    replace: '',
  },
  {
    name: 'a doubtful start that does not wait',
    file: 'src/replication/own-streams-check.ts',
    find: '    this.#isSettled = doubt === undefined\n',
    replace: '    this.#isSettled = true\n',
  },
  {
    name: 'own events that are not asked for without a doubt',
    file: 'src/sync/next-step.ts',
    find: "  if (whose === 'own') return eventsAfter(claim, count)\n",
    replace: "  if (whose === 'own') return undefined\n",
  },
  {
    name: 'answered requests that still count as open',
    file: 'src/sync/answers.ts',
    find: '    peer.serving--\n',
    replace: '',
  },
  {
    name: 'a bucket digest that is not renewed',
    file: 'src/replication/head-digest.ts',
    find: '    bucket.entries.set(name, hash)\n    this.#outdate(bucket)\n',
    replace: '    bucket.entries.set(name, hash)\n    this.#all = undefined\n',
  },
  {
    name: 'frames that do not lead to the signed head',
    file: 'src/replication/chunk-admission.ts',
    find: '  if (leads !== true) return undefined\n',
    replace: '',
  },
  {
    name: 'a stripped payload that is accepted',
    file: 'src/replication/missing-payloads.ts',
    find: '    if (seed !== undefined) continue\n',
    replace: '    if (seed !== undefined || count > 0) continue\n',
  },
  {
    name: 'a lamport timestamp far ahead that is followed',
    file: 'src/replication/chunk-admission.ts',
    find: "  if (isTooFarAhead(head.lamport, context.now())) return answer('early')\n",
    replace: '',
  },
  {
    name: 'a duplicate that is refused',
    file: 'src/replication/chunk-admission.ts',
    find: '  if (head.count <= count && isOnChain(head, stream))',
    replace: '  if (head.count < count && isOnChain(head, stream))',
  },
  {
    name: 'a chunk that is served past its checkpoint',
    file: 'src/replication/serving.ts',
    find: 'endOfChunk(from, stream.checkpointAfter(from), newest)',
    replace: 'endOfChunk(from, undefined, newest)',
  },
  {
    name: 'a subscription that received events do not wake',
    file: 'src/store/memory/memory-event-store.ts',
    find: "    if (answers.some(({ state }) => state === 'stored' || state === 'forked')) this.#committed()\n",
    replace: '',
  },
  {
    name: 'time travel that is not noticed',
    file: 'src/events/query/monotonic-job.ts',
    find: 'compareEventKeys(event, this.#latest) <= 0',
    replace: 'compareEventKeys(event, this.#latest) > 1',
  },
  {
    name: 'a subscription that skips the first new event',
    file: 'src/store/memory/memory-cursor.ts',
    find: 'this.#snapshot.count(number), snapshot.count(number) - 1)',
    replace: 'this.#snapshot.count(number) + 1, snapshot.count(number) - 1)',
  },
  {
    name: 'a total order that depends on the order of arrival',
    file: 'src/replication/total-order.ts',
    find: '  return a.lamport - b.lamport || compareStreams(a.stream.key, b.stream.key)',
    replace: '  return a.lamport - b.lamport',
  },
  {
    name: 'streams of one node that are taken for one',
    file: 'src/replication/streams.ts',
    find: '  return a.number === b.number && ',
    replace: '  return ',
  },
  {
    name: 'a name that a late copy postdates',
    file: 'src/replication/fact-order.ts',
    find: '  return { key: claimed, copy: event }',
    replace: '  return { key: event, copy: claimed }',
  },
  {
    name: 'a claim that makes a name newer than its event',
    file: 'src/replication/fact-order.ts',
    find: 'claimed === undefined || compareEventKeys(claimed, event) >= 0',
    replace: 'claimed === undefined',
  },
  {
    name: 'names that are not copied before they are pruned',
    file: 'src/events/retention/pruner.ts',
    find: '    await this.#facts.copyBefore(stream, last)\n',
    replace: '',
  },
  {
    name: 'a wrong clock that is trusted',
    file: 'src/events/retention/clock-trust.ts',
    find: '    if (Math.abs(change) >= tolerance) {\n',
    replace: '    if (Math.abs(change) < 0) {\n',
  },
  {
    name: 'a restart that forgets how the clock was set',
    file: 'src/events/retention/clock-trust.ts',
    find: '    if (record !== undefined) this.#continue(record, reading, tolerance)\n    else if (hasEvents) {\n',
    replace: '    if (hasEvents) {\n',
  },
  {
    name: 'events that are removed too early',
    file: 'src/events/retention/prunable.ts',
    find: 'oldestTime: now - maxAge,',
    replace: 'oldestTime: now - maxAge / 4,',
  },
  {
    name: 'a block that is not compared with its identifier',
    file: 'src/store/port/received-block.ts',
    find: ' || !isDigestOf(cid, bytes)) return',
    replace: ') return',
  },
  {
    name: 'a request for a block that does not expire',
    file: 'src/sync/blocks/block-fetcher.ts',
    find: '        const isLate = this.#deadline(peer, askedAt) <= now\n',
    replace: '        const isLate = this.#deadline(peer, askedAt) < 0\n',
  },
  {
    name: 'a peer that lacks a block for ever',
    file: 'src/sync/blocks/block-fetcher.ts',
    find: '      peer.lacks.set(key, now + limits.blockNotHereMs)\n      this',
    replace: '      peer.lacks.set(key, Number.POSITIVE_INFINITY)\n      this',
  },
  {
    name: 'blocks that are not searched for again',
    file: 'src/sync/blocks/want-scan.ts',
    find: '      this.at(now + this.#intervalMs)\n',
    replace: '',
  },
  {
    name: 'sent blocks that still count as unsent',
    file: 'src/sync/blocks/block-server.ts',
    find: '    peer.unsentBytes -= freed\n',
    replace: '',
  },
]
