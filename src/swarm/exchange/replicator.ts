import { encodeChunk, heads, type StreamKey } from '../../protocol/index.ts'
import { type AppendedFrames, nameOfStream, recordsHash } from '../../replication/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import { type CloseReason, type Effect, type Message, Sync, type TableRow } from '../../sync/index.ts'
import { PeerAnswers } from './peer-answers.ts'
import { PeerInput } from './peer-input.ts'
import type { ReplicatedLog } from './replicated-log.ts'
import type { ReplicationGate } from './replication-gate.ts'

type AnswerEffect = Extract<Effect, { do: 'read' | 'read-records' | 'read-evidence' | 'find-common' | 'list-points' }>

/** Sends messages to peers, which are named by their public keys as latin1. */
export interface Transport {
  send(peer: string, message: Message): void
  close(peer: string, reason: CloseReason): void
}

export interface ReplicatorOptions {
  readonly topic: string
  /** The public key of this node. */
  readonly node: Uint8Array
  readonly log: ReplicatedLog
  readonly transport: Transport
  readonly runtime: Runtime
  /** Milliseconds between two digests to a peer. */
  readonly gossipMs: number
  /** A random number from 0 to before 1. */
  readonly random: () => number
  /** Makes publishing wait after a doubtful start; without one the own streams are known to be complete. */
  readonly gate?: ReplicationGate | undefined
  /** Called for what the operator has to know. */
  readonly onReport?: (report: Extract<Effect, { do: 'report' }>) => void
  /** Called for addresses of nodes that a peer knows. */
  readonly onLearned?: (learned: Extract<Effect, { do: 'learned-addresses' }>) => void
  /** Called when reading or writing the log fails: the peer is asked again, or asks again. */
  readonly onFailure: (error: unknown) => void
}

/** Carries out what `Sync` decides, on the log of a topic and the connections to peers. */
export class Replicator {
  readonly #options: ReplicatorOptions
  readonly #sync: Sync
  readonly #answers: PeerAnswers
  readonly #input: PeerInput
  /** By peer: its last work on the log. Records are applied before the chunks that follow them. */
  readonly #work = new Map<string, Promise<void>>()
  readonly #unsubscribe: () => void
  #timer: Timer | undefined
  #timerAt = Number.POSITIVE_INFINITY
  #isClosed = false

  constructor(options: ReplicatorOptions) {
    this.#options = options
    const { topic, node, log, runtime, gossipMs, random, gate } = options
    const { clock } = runtime
    const isInDoubt = (): boolean => gate?.isOpen === false
    this.#sync = new Sync({ topic, node, gossipMs, random, wallClock: clock.now, isInDoubt }, clock.steadyMs())
    this.#answers = new PeerAnswers(log)
    this.#input = new PeerInput(log)
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
    this.#apply(this.#sync.connected(peer, this.#now))
  }

  disconnected(peer: string): void {
    this.#options.gate?.disconnected(peer)
    this.#apply(this.#sync.disconnected(peer, this.#now))
  }

  received(peer: string, message: Message): void {
    this.#apply(this.#sync.received(peer, message, this.#now))
  }

  /** See `Sync.congested`. */
  congested(peer: string, isCongested: boolean): void {
    this.#sync.congested(peer, isCongested)
  }

  /** This node has pruned an own stream, or has redacted events of it with this record. */
  async removed(stream: StreamKey, redaction?: Uint8Array): Promise<void> {
    const row = await this.#options.log.headOf(stream)
    if (row === undefined) return
    const { prune } = await this.#options.log.records(row.number, 0, 0)
    const redactions = redaction === undefined ? [] : [redaction]
    this.#apply(this.#sync.removed(row, { stream, prune, redactions, next: undefined }))
  }

  /** What is known of the peers. */
  peers(): ReturnType<Sync['peers']> {
    return this.#sync.peers()
  }

  close(): void {
    this.#isClosed = true
    this.#unsubscribe()
    this.#options.runtime.timers.clear(this.#timer)
  }

  get #now(): number {
    return this.#options.runtime.clock.steadyMs()
  }

  #appended({ stream, records, head }: AppendedFrames): void {
    const { topic } = this.#options
    const { count, hash } = heads.decodeStored(head)
    const known = this.#sync.rowOf(nameOfStream(stream))
    if (known !== undefined && known.count >= count) return
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
    this.#apply(this.#sync.appended(row, records && encodeChunk([...records], head)))
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
        this.#inTurn(effect.from, () => this.#take(effect))
        break
      default:
        this.#inTurn(`answers to ${effect.peer}`, () => this.#answer(effect))
    }
  }

  /** What a peer sends is stored in the order in which it arrived, and what it asks for is read in that order. */
  #inTurn(queue: string, work: () => Promise<Effect[]>): void {
    const before = this.#work.get(queue) ?? Promise.resolve()
    const done = before
      .then(work)
      .then((effects) => this.#apply(effects))
      .catch(this.#options.onFailure)
      .finally(() => {
        if (this.#work.get(queue) === done) this.#work.delete(queue)
      })
    this.#work.set(queue, done)
  }

  async #take(
    effect: Extract<Effect, { do: 'compare-own' | 'store' | 'apply-records' | 'apply-evidence' }>,
  ): Promise<Effect[]> {
    if (effect.do === 'compare-own') return this.#compareOwn(effect)
    if (effect.do === 'store') {
      const { outcome, row } = await this.#input.store(effect.chunk, effect.from)
      this.#ownChanged(row, outcome === 'stored')
      return this.#sync.stored(effect, outcome, row, this.#now)
    }
    if (effect.do === 'apply-records') {
      const { outcome, row } = await this.#input.applyRecords(effect.records, effect.from)
      return this.#sync.appliedRecords(effect, outcome, row, this.#now)
    }
    const { outcome, row } = await this.#input.applyEvidence(effect.record, effect.stream, effect.from)
    this.#ownChanged(row, false)
    return this.#sync.appliedEvidence(effect, outcome, row, this.#now)
  }

  async #compareOwn({ from, heads: signed }: Extract<Effect, { do: 'compare-own' }>): Promise<Effect[]> {
    const { gate, node, log } = this.#options
    const compared = await this.#input.compareOwn(signed, node)
    if (compared === undefined) return this.#sync.refused(from, 'badHead', this.#now)
    // A peer that has nothing of this node cannot tell whether others have more.
    const hasEvents = compared.length > 0 || !(await log.heads()).some(({ own }) => own)
    if (hasEvents) gate?.compared(from, compared)
    return []
  }

  /** Tells the gate when own events were adopted, or when an own stream was frozen. */
  #ownChanged(row: TableRow | undefined, isStored: boolean): void {
    const { gate, node } = this.#options
    if (gate === undefined || row === undefined || Buffer.compare(row.key.node, node) !== 0) return
    if (row.frozen) gate.froze(row.key.number)
    else if (isStored) gate.adopted(row.key.number, row.count)
  }

  async #answer(effect: AnswerEffect): Promise<Effect[]> {
    try {
      return await this.#read(effect)
    } catch (error) {
      // Without an answer the peer would count as one that asks too much.
      this.#options.onFailure(error)
      return this.#sync.cannotAnswer(effect.peer, effect.id)
    }
  }

  async #read(effect: AnswerEffect): Promise<Effect[]> {
    const { peer, id } = effect
    switch (effect.do) {
      case 'read':
        return this.#sync.read(peer, id, await this.#answers.events(effect))
      case 'read-records':
        return this.#sync.readRecords(peer, id, await this.#answers.records(effect))
      case 'read-evidence':
        return this.#sync.readEvidence(peer, id, await this.#answers.evidence(effect.stream))
      case 'find-common':
        return this.#sync.foundCommon(peer, id, await this.#answers.common(effect))
      case 'list-points':
        return this.#sync.listedPoints(peer, id, await this.#answers.points(effect), this.#now)
    }
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
