import { limits } from '../../base/limits.ts'
import type { StreamKey } from '../../protocol/index.ts'
import { nameOfStream } from '../../replication/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import type { Timer } from '../../runtime/timers.ts'
import type { Records, TableRow } from '../../sync/index.ts'
import type { ReplicatedLog } from './replicated-log.ts'

interface Removal {
  readonly stream: StreamKey
  readonly redactions: readonly Uint8Array[]
}

export interface RemovalsOptions {
  readonly log: Pick<ReplicatedLog, 'headOf' | 'records'>
  /** The public key of this node. */
  readonly node: Uint8Array
  readonly timers: Runtime['timers']
  /** An own stream was pruned or redacted. */
  readonly removed: (row: TableRow, records: Records) => void
  /** A foreign stream was forgotten; `row` is what is stored of it again. */
  readonly forgot: (stream: StreamKey, row: TableRow | undefined) => void
  /** Called when the log cannot be read: it is tried again. */
  readonly onFailure: (error: unknown) => void
}

/** Streams of which this node has removed events: their rows are read again, until that has worked. */
export class Removals {
  readonly #options: RemovalsOptions
  /** By name of the stream, so that there is at most one for each. */
  readonly #waiting = new Map<string, Removal>()
  #isRunning = false
  #timer: Timer | undefined
  #isClosed = false

  constructor(options: RemovalsOptions) {
    this.#options = options
  }

  /** Resolves after the first attempt, or when it is part of one that runs. */
  async add(stream: StreamKey, redaction: Uint8Array | undefined): Promise<void> {
    this.#wait({ stream, redactions: redaction === undefined ? [] : [redaction] })
    await this.#run()
  }

  close(): void {
    this.#isClosed = true
    this.#options.timers.clear(this.#timer)
  }

  /** Redactions beyond the limit are not sent at once: peers find them by comparing heads, and ask for them. */
  #wait({ stream, redactions }: Removal): void {
    const name = nameOfStream(stream)
    const before = this.#waiting.get(name)?.redactions ?? []
    this.#waiting.set(name, { stream, redactions: [...before, ...redactions].slice(0, limits.redactionsPerCall) })
  }

  async #run(): Promise<void> {
    if (this.#isRunning || this.#isClosed) return
    this.#isRunning = true
    try {
      for (const [name, removal] of this.#waiting) {
        this.#waiting.delete(name)
        await this.#tell(removal).catch((error: unknown) => {
          this.#wait(removal)
          throw error
        })
      }
    } catch (error) {
      if (!this.#isClosed) this.#failed(error)
    } finally {
      this.#isRunning = false
    }
  }

  #failed(error: unknown): void {
    const { timers, onFailure } = this.#options
    onFailure(error)
    timers.clear(this.#timer)
    this.#timer = timers.setTimeout(() => void this.#run(), limits.failureRetryMs).unref()
  }

  async #tell({ stream, redactions }: Removal): Promise<void> {
    const { log, node, removed, forgot } = this.#options
    const row = await log.headOf(stream)
    if (Buffer.compare(stream.node, node) !== 0) {
      forgot(stream, row)
      return
    }
    if (row === undefined) return
    const { prune } = await log.records(row.number, 0, 0)
    removed(row, { stream, prune, redactions, next: undefined })
  }
}
