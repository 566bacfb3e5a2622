import { assert } from '../../../base/assert.ts'
import { ByteWriter, FrameBuilder, randomSeed } from '../../../protocol/index.ts'
import {
  type ChainEnd,
  type FrameCollector,
  forkedStream,
  growOwn,
  isChunkFull,
  isFrameFull,
  ownStreamKey,
  signHead,
} from '../../../replication/index.ts'
import { type Appended, type AppendRequest, addToRuns, type Run } from '../../port/index.ts'
import { rowKey } from '../rows/row-key.ts'
import type { StreamState } from '../rows/stream-state.ts'
import { tailRow } from '../rows/tail-row.ts'
import { appHashOf } from '../tag-index/tag-index.ts'
import type { LogState } from './log-state.ts'

/** Appends requests to own streams, many in one commit. */
export class Appender {
  /** The hashes of the apps whose events were appended since the caller last cleared the set. */
  readonly apps = new Set<number>()
  /** Gets the frames of each commit, while somebody listens. */
  frames: FrameCollector | undefined
  readonly #log: LogState
  readonly #pending = new Map<StreamState, PendingRow>()
  /** Buffers are reused from commit to commit; most commits are for one stream. */
  readonly #spare: PendingRow[] = []
  readonly #record = new ByteWriter(256 * 1024)
  /** The chain after the frame in `#record`, whose hash is computed later. */
  #unlinked: ChainEnd | undefined

  constructor(log: LogState) {
    this.#log = log
  }

  /** Stores all requests in one transaction: see `LogState.transaction` for what is on disk when it throws. */
  commit(requests: readonly AppendRequest[]): Appended[] {
    // The events of a commit share its time. Read before the transaction, since recovering from a failed one is slow.
    const time = this.#log.now()
    this.#refuseFrozen(requests)
    try {
      const appended = this.#log.lazyTransaction(() => {
        const appended = requests.map((request) => this.#append(request, time))
        this.#endFrames()
        return appended
      })
      this.frames?.commit()
      return appended
    } finally {
      this.frames?.rollback()
      for (const row of this.#pending.values()) this.#spare.push(row.clear())
      this.#pending.clear()
    }
  }

  /** Before the transaction, since a failed one reloads all streams. */
  #refuseFrozen(requests: readonly AppendRequest[]): void {
    const { frozen, options } = this.#log
    if (frozen.size === 0) return
    for (const number of new Set(requests.flatMap(({ streams }) => [...streams]))) {
      const state = this.#log.stream(ownStreamKey(number, options))
      if (state !== undefined && frozen.has(state.number)) throw forkedStream(number)
    }
  }

  /**
   * Computes the deferred chain hash of the last frame, which only the next frame needs. It has to run before the record
   * buffer is reused.
   */
  link(): void {
    this.#unlinked?.link()
    this.#unlinked = undefined
  }

  #endFrames(): void {
    const rest = [...this.#pending].filter(([, { frame }]) => frame.count > 0)
    for (const [state, row] of rest) this.#endFrame(state, row, rest.length === 1)
  }

  #append({ source, spans, streams }: AppendRequest, time: number): Appended {
    const log = this.#log
    const lamport = log.clock.take(streams.length)
    assert(spans.length === 4 * streams.length, 'each event of a request has its spans')
    const runs: Run[] = []
    let state: StreamState | undefined
    let row: PendingRow | undefined
    let lastApp = -1
    for (let i = 0; i < streams.length; i++) {
      const number = streams[i] as number
      if (state?.key.number !== number || row === undefined) {
        state = log.ownStream(number)
        row = this.#row(state)
      }
      addToRuns(runs, number, state.count + row.frame.count)
      row.frame.add(lamport + i, time, source, spans, 4 * i)
      const app = appHashOf(source, spans[4 * i] as number, spans[4 * i + 1] as number)
      if (app !== lastApp) this.apps.add(app)
      lastApp = app
      row.lamport = lamport + i
      if (isFrameFull(row.frame)) this.#endFrame(state, row)
    }
    return { lamport, time, runs }
  }

  #row(state: StreamState): PendingRow {
    const known = this.#pending.get(state)
    if (known !== undefined) return known
    const row = this.#spare.pop() ?? new PendingRow()
    this.#pending.set(state, row)
    this.#log.changed.add(state)
    return row
  }

  /** Appends the frame to the chain and writes its row; a full chunk also gets a signed checkpoint head. */
  #endFrame(state: StreamState, { frame, lamport }: PendingRow, isLastWrite = false): void {
    const { count: first } = state
    const { count } = frame
    this.link()
    const record = this.#record.clear()
    const before = state.chain
    const made = frame.finish(first, randomSeed(this.#log.options.random), record)
    const chain = before.after(made)
    this.#unlinked = chain
    growOwn(state, { count, lamport, chain, bytes: record.length })
    const endsChunk = isChunkFull(state)
    const point = { is: 'before', hash: before.hash } as const
    const added = tailRow(rowKey(state.number, first), count, lamport, point, record.written)
    this.#log.insertTail(added, isLastWrite && !endsChunk)
    this.frames?.add(state.key, { first, before: before.hash, count: state.count }, record.written)
    if (!endsChunk || this.#log.options.kind !== 'live') return
    const head = signHead(state, true, this.#log.options)
    this.#log.insertCheckpoint(state, head)
    this.frames?.endChunk(state.key, head)
  }
}

/** The frame that a commit is building for one stream, and that becomes a row of the tail. */
class PendingRow {
  readonly frame = new FrameBuilder()
  lamport = -1

  clear(): this {
    this.frame.clear()
    return this
  }
}
