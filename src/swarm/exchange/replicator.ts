import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { encodeChunk, heads, type StreamKey } from '../../protocol/index.ts'
import { type AppendedFrames, isAnnounced, isReplicated, nameOfStream, recordsHash } from '../../replication/index.ts'
import type { Timer } from '../../runtime/timers.ts'
import {
  type Claim,
  type Effect,
  type Message,
  type StoreEffect,
  Sync,
  type SyncTimes,
  type TableRow,
} from '../../sync/index.ts'
import { Answering } from './answering.ts'
import { type InputEffect, InputQueue, sizeOfInput } from './input-queue.ts'
import { OwnStreams } from './own-streams.ts'
import { PeerAnswers } from './peer-answers.ts'
import { PeerInput } from './peer-input.ts'
import { processedChunk, recordsInVain } from './processed-input.ts'
import { Removals } from './removals.ts'
import type { PeerState, ReplicatorOptions } from './replicator-options.ts'
import { StopDrain } from './stop-drain.ts'

/** Carries out what `Sync` decides, on the log of a topic and the connections to peers. */
export class Replicator {
  readonly #options: ReplicatorOptions
  readonly #sync: Sync
  readonly #answers: PeerAnswers
  readonly #answering: Answering
  readonly #input: PeerInput
  readonly #ownStreams: OwnStreams
  readonly #inputQueue: InputQueue<InputEffect>
  readonly #removals: Removals
  readonly #drain: StopDrain
  readonly #unsubscribe: () => void
  #timer: Timer | undefined
  #timerAt = Number.POSITIVE_INFINITY
  #isClosed = false

  constructor(options: ReplicatorOptions) {
    this.#options = options
    const { topic, node, log, runtime, gossipMs, pingTimeoutMs = limits.pingTimeoutMs, random, gate } = options
    const { clock } = runtime
    assert(isReplicated({ kind: this.#kind }), 'an imported topic is not replicated')
    const isInDoubt = (): boolean => gate?.isInDoubt === true
    const wallClock = clock.now
    const isReadOnly = !isAnnounced({ kind: this.#kind }, { readOnly: options.isReadOnly ?? false })
    const times = { gossipMs, pingTimeoutMs }
    this.#sync = new Sync({ topic, node, ...times, random, wallClock, isInDoubt, isReadOnly }, clock.steadyMs())
    this.#answers = new PeerAnswers(log)
    this.#answering = new Answering({
      answers: this.#answers,
      sync: this.#sync,
      apply: (effects) => this.#apply(effects),
      onFailure: options.onFailure,
    })
    this.#input = new PeerInput(log)
    this.#ownStreams = new OwnStreams({ node, gate, input: this.#input, sync: this.#sync })
    this.#inputQueue = new InputQueue<InputEffect>({
      store: (effects) => this.#run(() => this.#take(effects)),
      isJoined: (effect) => effect.do === 'store',
      pause: (peer, isPaused) => options.transport.pause(peer, isPaused),
      overflow: (peer) => this.#apply(this.#sync.disconnect(peer, 'tooMuchInput', this.#now)),
      waits: (peer, isWaiting) => this.#sync.inputWaits(peer, isWaiting, this.#now),
    })
    this.#drain = new StopDrain({ log, node, runtime, sync: this.#sync })
    this.#removals = new Removals({
      log,
      node,
      timers: runtime.timers,
      removed: (row, records) => this.#apply(this.#sync.removed(row, records)),
      forgot: (stream, row) => this.#apply(this.#sync.forgot(stream, row, this.#now)),
      onFailure: options.onRemovalFailure ?? options.onFailure,
    })
    this.#unsubscribe = log.onAppended((appended) => {
      for (const frames of appended) this.#appended(frames)
    })
  }

  /** Reads the head table. Has to be called before a peer is connected. */
  async start(): Promise<void> {
    // From now on other nodes may have heads of own streams that this one forgets in a crash.
    await this.#options.log.markAnnounced()
    for (const row of await this.#options.log.heads()) this.#sync.changed(row)
  }

  connected(peer: string): void {
    this.#options.gate?.connected(peer)
    this.#answering.connected(peer)
    this.#apply(this.#sync.connected(peer, this.#now))
  }

  disconnected(peer: string): void {
    this.#options.gate?.disconnected(peer)
    this.#forget(peer)
    this.#apply(this.#sync.disconnected(peer, this.#now))
    this.#drain.check()
  }

  received(peer: string, message: Message): void {
    this.#apply(this.#sync.received(peer, message, this.#now))
    this.#drain.check()
  }

  /** Applies changed intervals and time-outs. */
  setTimes(times: SyncTimes): void {
    this.#sync.setTimes(times, this.#now)
    this.#wake()
  }

  /** From now on this node only receives, and tells nothing of its own streams, or tells all of them. */
  setReadOnly(readOnly: boolean): void {
    this.#apply(this.#sync.setReadOnly(!isAnnounced({ kind: this.#kind }, { readOnly })))
  }

  /** Bytes of a message of a peer have arrived, but not the whole message. */
  bytesArrived(peer: string): void {
    this.#sync.bytesArrived(peer, this.#now)
  }

  /** So much waits to be sent to a peer that new events are left out and its requests wait, or that is over. */
  congested(peer: string, isCongested: boolean): void {
    this.#apply(this.#sync.congested(peer, isCongested))
    this.#answering.congested(peer, isCongested)
  }

  /** So many answers wait to be sent to a peer that its requests wait, or that is over. New events are still sent. */
  syncCongested(peer: string, isCongested: boolean): void {
    this.#apply(this.#sync.syncCongested(peer, isCongested))
    this.#answering.congested(peer, isCongested)
  }

  /** This node has pruned an own stream, has redacted events of it with this record, or has forgotten a foreign one. */
  removed(stream: StreamKey, redaction?: Uint8Array): Promise<void> {
    return this.#removals.add(stream, redaction)
  }

  /** What is known of the peers. */
  peers(): readonly PeerState[] {
    return this.#sync.peers().map(({ name, isReady, clockAhead, roundTripMs, stored, hasSameHeads }) => {
      const waits = { ...this.#inputQueue.of(name), ...this.#answering.of(name) }
      return { name, isReady, clockAhead, roundTripMs, stored, hasSameHeads, ...waits }
    })
  }

  /** What is stored of all streams. */
  rows(): Iterable<TableRow> {
    return this.#sync.rows()
  }

  /** What a peer has said to have. */
  claimsOf(peer: string): Iterable<Pick<Claim, 'stream' | 'count'>> {
    return this.#sync.claimsOf(peer)
  }

  /** Whether a peer has said that it is connected to another node. */
  areConnected(peer: string, other: string): boolean {
    return this.#sync.areConnected(peer, other)
  }

  /** Waits until the connected peers have stored the newest own events, but not for long: before the node stops. */
  drain(): Promise<void> {
    return this.#drain.wait()
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    this.#removals.close()
    for (const { name } of this.#sync.peers()) this.#forget(name)
    this.#options.runtime.timers.clear(this.#timer)
  }

  get #kind() {
    return this.#options.kind ?? 'live'
  }

  get #now(): number {
    return this.#options.runtime.clock.steadyMs()
  }

  #appended({ stream, first, records, head }: AppendedFrames): void {
    const { topic } = this.#options
    const { count, hash } = heads.decodeStored(head)
    const known = this.#sync.rowOf(nameOfStream(stream))
    if (known !== undefined && known.count >= count) return
    this.#drain.appended(stream, count)
    const { pruned = 0, frozen = false } = known ?? {}
    const row: TableRow = {
      key: stream,
      pruned,
      frozen,
      count,
      hash,
      head,
      records: known?.records ?? recordsHash(topic, { key: stream, pruned, count }, []),
    }
    this.#apply(this.#sync.appended(row, first, records && encodeChunk([...records], head)))
  }

  #apply(effects: readonly Effect[]): void {
    if (this.#isClosed) return
    for (const effect of effects) this.#carryOut(effect)
    this.#wake()
  }

  #carryOut(effect: Effect): void {
    const { transport, onReport } = this.#options
    switch (effect.do) {
      case 'send':
        transport.send(effect.to, effect.message)
        break
      case 'close':
        this.#forget(effect.peer)
        transport.close(effect.peer, effect.reason)
        break
      case 'report':
        onReport?.(effect)
        break
      case 'learned-addresses':
        this.#options.onLearned?.(effect)
        break
      case 'compare-own':
      case 'store':
      case 'apply-records':
      case 'apply-evidence':
        this.#inputQueue.add(effect.from, sizeOfInput(effect), effect)
        break
      case 'list-points':
        void this.#run(() => this.#listPoints(effect))
        break
      default:
        this.#answering.add(effect)
    }
  }

  /** Drops what waits because of a peer. */
  #forget(peer: string): void {
    this.#inputQueue.drop(peer)
    this.#answering.drop(peer)
  }

  /** Does work on the log, and carries out what follows from it. */
  async #run(work: () => Promise<Effect[]>): Promise<void> {
    try {
      this.#apply(await work())
    } catch (error) {
      this.#options.onFailure(error)
    }
  }

  /** Several inputs are chunks of one peer. */
  async #take(effects: readonly InputEffect[]): Promise<Effect[]> {
    const chunks = effects.filter((effect) => effect.do === 'store')
    if (chunks.length > 0) return this.#storeAll(chunks)
    const [effect] = effects
    assert(effect !== undefined && effect.do !== 'store' && effects.length === 1, 'only chunks are stored together')
    if (effect.do === 'compare-own') return this.#ownStreams.compare(effect, () => this.#now)
    if (effect.do === 'apply-records') {
      const { outcome, row } = await this.#input.applyRecords(effect.records, effect.from)
      this.#options.onRecords?.(effect.from, recordsInVain(effect.records, outcome))
      return this.#sync.appliedRecords(effect, outcome, row, this.#now)
    }
    const { outcome, row } = await this.#input.applyEvidence(effect.record, effect.stream, effect.from)
    this.#ownStreams.changed(row, false)
    return this.#sync.appliedEvidence(effect, outcome, row, this.#now)
  }

  async #storeAll(chunks: readonly StoreEffect[]): Promise<Effect[]> {
    const from = chunks[0]?.from as string
    const endOf = (name: string): TableRow | undefined => this.#sync.rowOf(name)
    const results = await this.#input.store(
      chunks.map(({ chunk }) => chunk),
      from,
      endOf,
    )
    return results.flatMap(({ outcome, row }, i) => {
      const effect = chunks[i] as StoreEffect
      this.#ownStreams.changed(row, outcome === 'stored')
      const known = row && this.#sync.rowOf(nameOfStream(row.key))
      this.#options.onChunk?.(from, processedChunk(effect, outcome, row, known))
      return this.#sync.stored(effect, outcome, row, this.#now)
    })
  }

  async #listPoints(effect: Extract<Effect, { do: 'list-points' }>): Promise<Effect[]> {
    const points = await this.#answers.points(effect)
    return this.#sync.listedPoints(effect.peer, effect.id, points, this.#now)
  }

  /** Sets the timer for the next time at which something is due. */
  #wake(): void {
    const { timers } = this.#options.runtime
    const at = this.#sync.wakeAt
    if (at === this.#timerAt) return
    timers.clear(this.#timer)
    this.#timerAt = at
    this.#timer = timers.setTimeout(
      () => {
        this.#timerAt = Number.POSITIVE_INFINITY
        this.#apply(this.#sync.tick(this.#now))
      },
      Math.max(0, at - this.#now),
    )
  }
}
