import { assert } from '../../assert.ts'
import { ShoalError } from '../../errors.ts'
import { limits } from '../../limits.ts'
import { ByteWriter, FrameBuilder, randomSeed } from '../../protocol/index.ts'
import type { LogState } from './log-state.ts'
import type { Appended, AppendRequest, Run } from './requests.ts'
import { rowKey } from './row-key.ts'
import type { StreamState } from './stream-state.ts'
import { appHashOf } from './tag-index.ts'
import { tailRow } from './tail-row.ts'

/** Bytes that a frame, and each of its events, has more in its record than what was sent: four numbers at most, and a seed. */
const mostFraming = 64

/** Appends requests to own streams, many in one commit. */
export class Appender {
  /** The hashes of the apps whose events were appended, until somebody clears it. */
  readonly apps = new Set<number>()
  readonly #log: LogState
  readonly #pending = new Map<StreamState, PendingRow>()
  /** Buffers are reused from commit to commit; most commits are for one stream. */
  readonly #spare: PendingRow[] = []
  readonly #record = new ByteWriter(256 * 1024)

  constructor(log: LogState) {
    this.#log = log
  }

  /** Stores all requests in one transaction. When this returns, all of them are on disk; when it throws, none is. */
  commit(requests: readonly AppendRequest[]): Appended[] {
    return this.#ending(() =>
      this.#log.insertion(
        () => this.#isOneRow(requests),
        () => this.#inFrames(() => requests.map((request) => this.#append([request]))),
      ),
    )
  }

  /** Stores one request, whose parts are asked for one after the other, in one transaction. */
  commitParts(parts: Iterable<AppendRequest>): Appended {
    return this.#ending(() => this.#log.transaction(() => this.#inFrames(() => this.#append(parts))))
  }

  #ending<T>(commit: () => T): T {
    try {
      return commit()
    } finally {
      for (const row of this.#pending.values()) this.#spare.push(row.clear())
      this.#pending.clear()
    }
  }

  #inFrames<T>(append: () => T): T {
    const appended = append()
    for (const [state, row] of this.#pending) if (row.frame.count > 0) this.#endFrame(state, row)
    return appended
  }

  /** Whether all that is written is one row of the tail: a frame of a stream that is known, with which no chunk ends. */
  #isOneRow(requests: readonly AppendRequest[]): boolean {
    const number = requests[0]?.streams[0]
    const state = number === undefined ? undefined : this.#log.knownOwnStream(number)
    if (state === undefined) return false
    let events = 0
    let bytes = state.bytesSince
    for (const { spans, streams } of requests) {
      events += streams.length
      if (events >= limits.eventsPerOwnFrame || !streams.every((other) => other === number)) return false
      bytes += mostFraming * streams.length
      for (let i = 0; i < spans.length; i += 2) bytes += (spans[i + 1] as number) - (spans[i] as number)
    }
    return (
      state.eventsSince + events < limits.eventsPerCheckpoint &&
      bytes - state.bytesSince < limits.ownFrameBytes &&
      bytes + mostFraming < limits.bytesPerCheckpoint
    )
  }

  /** Appends a request, the parts of which follow each other. */
  #append(parts: Iterable<AppendRequest>): Appended {
    const time = this.#log.options.now()
    const lamport = this.#log.clock
    const runs: Run[] = []
    for (const part of parts) this.#appendPart(part, time, runs)
    return { lamport, time, runs }
  }

  #appendPart({ source, spans, streams }: AppendRequest, time: number, runs: Run[]): void {
    const log = this.#log
    const lamport = log.clock
    if (lamport + streams.length > Number.MAX_SAFE_INTEGER)
      throw new ShoalError('ERR_IO', 'The logical clock is at its end.')
    log.clock += streams.length
    let state: StreamState | undefined
    let row: PendingRow | undefined
    let lastApp = -1
    for (let i = 0; i < streams.length; i++) {
      const number = streams[i] as number
      if (state?.key.number !== number || row === undefined) {
        state = log.ownStream(number)
        row = this.#row(state)
        // The first of a part may go on with the run of the one before.
        if (i > 0 || runs.at(-1)?.stream !== number)
          runs.push({ stream: number, offset: state.count + row.frame.count, count: 0 })
      }
      row.frame.add(lamport + i, time, source, spans, 4 * i)
      const app = appHashOf(source, spans[4 * i] as number, spans[4 * i + 1] as number)
      if (app !== lastApp) this.apps.add(app)
      lastApp = app
      ;(runs.at(-1) as Run).count++
      row.lamport = lamport + i
      if (row.frame.count === limits.eventsPerOwnFrame || row.frame.size >= limits.ownFrameBytes)
        this.#endFrame(state, row)
    }
  }

  #row(state: StreamState): PendingRow {
    const known = this.#pending.get(state)
    if (known !== undefined) return known
    const row = this.#spare.pop() ?? new PendingRow()
    this.#pending.set(state, row)
    this.#log.remember(state)
    this.#log.changed.add(state)
    return row
  }

  /** Links the frame to the chain and writes its row; where a chunk is full, a checkpoint head is signed. */
  #endFrame(state: StreamState, { frame, lamport }: PendingRow): void {
    assert(lamport > state.lamport, 'lamport timestamps rise within a stream')
    const { count: first } = state
    const { count } = frame
    const record = this.#record.clear()
    state.hash = frame.finish(first, state.hash, randomSeed(), record)
    state.count += count
    state.lamport = lamport
    state.eventsSince += count
    state.bytesSince += record.length
    this.#log.insertTail(tailRow(rowKey(state.number, first), count, lamport, state.hash, record.written))
    if (state.eventsSince < limits.eventsPerCheckpoint && state.bytesSince < limits.bytesPerCheckpoint) return
    if (this.#log.options.kind === 'live') this.#log.insertCheckpoint(state, this.#log.signHead(state, true))
  }
}

/** What a commit adds to one stream: a frame that is still growing, which becomes a row. */
class PendingRow {
  readonly frame = new FrameBuilder()
  lamport = -1

  clear(): this {
    this.frame.clear()
    return this
  }
}
