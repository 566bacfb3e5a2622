import { type MalformedChunk, type Received, type ReceivedTogether, rowsOfChunks } from '../../../replication/index.ts'
import type { DiskReporter } from '../../disk/disk-notice.ts'
import type { LogWriter, VerifiedChunk } from '../../sqlite/index.ts'
import { toMessage } from '../thread-messages.ts'
import type { Caller } from './writer-messages.ts'

interface Task {
  readonly caller: Caller
  readonly id: number
  readonly chunks: readonly VerifiedChunk[]
  readonly steps: Generator<void, (Received | MalformedChunk)[]>
}

interface ReceiveQueueOptions {
  readonly writer: LogWriter
  readonly disk: DiskReporter
}

const nothing = (): void => {}

/** Chunks of other nodes that wait to be stored, one commit at a time: local appends run in between. */
export class ReceiveQueue {
  readonly #options: ReceiveQueueOptions
  /** Bounded by each sender, see `ChunkReceiving`. */
  #tasks: Task[] = []

  constructor(options: ReceiveQueueOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#tasks.length === 0
  }

  add(caller: Caller, id: number, chunks: readonly VerifiedChunk[], from: string | undefined): void {
    this.#tasks.push({ caller, id, chunks, steps: this.#options.writer.receiveVerified(chunks, from) })
  }

  /** Drops what a thread has sent that has ended. Commits that were done for it stay. */
  drop(caller: Caller): void {
    this.#tasks = this.#tasks.filter((task) => task.caller !== caller)
  }

  /** Does one commit of the first task. Returns what replies to it, if it was the last commit. */
  step(): () => void {
    const [task] = this.#tasks
    if (task === undefined) return nothing
    const { caller, id, chunks, steps } = task
    const { writer, disk } = this.#options
    try {
      const { done, value } = steps.next()
      if (done !== true) return nothing
      this.#tasks.shift()
      disk.succeeded('receive')
      const rows = rowsOfChunks(chunks, (key) => writer.headOf(key))
      return () => caller.reply([{ id, result: { answers: value, rows } satisfies ReceivedTogether }])
    } catch (error) {
      this.#tasks.shift()
      disk.failed('receive', error)
      return () => caller.reply([{ id, error: toMessage(error) }])
    }
  }

  /** Stores all that waits. */
  drain(): void {
    while (!this.isEmpty) this.step()()
  }
}
