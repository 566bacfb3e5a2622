import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { tuning } from '../../../base/tuning.ts'
import { MalformedBytes } from '../../../protocol/index.ts'
import type { Timer, Timers } from '../../../runtime/timers.ts'
import type { BackgroundReporter, BackgroundWork } from '../../disk/background.ts'
import type { DiskReporter, DiskWork } from '../../disk/disk-notice.ts'
import { DamagedData, type LogWriter, releaseSealed, type SealPlan } from '../../sqlite/index.ts'
import type { FromSealer, ToSealer } from '../sealer/sealer-thread.ts'
import { fromMessage, type Gate } from '../thread-messages.ts'

/** Milliseconds without activity after which the rest is sealed and the index completed. */
const idleMs = 250

/**
 * Milliseconds without activity after which the WAL is checkpointed. A checkpoint costs several syncs, and another one for
 * the next commit, so a device that publishes now and then does without. SQLite checkpoints a large WAL by itself.
 */
const checkpointMs = 60_000

/** Milliseconds between two polls for the sealer while appending waits for it. */
const pollMs = 1

interface SealSchedulerOptions {
  readonly writer: LogWriter
  readonly sealer: MessagePort
  /** Open when the sealer thread has ended. */
  readonly sealerEnded: Gate
  readonly timers: Timers
  readonly disk: DiskReporter
  readonly background: BackgroundReporter
  /** Called after a task of the sealer was applied while this thread did nothing else. */
  readonly finished: () => void
}

/**
 * Background work of the writer thread: gives tasks to the sealer thread, one at a time, and applies their results. When
 * there is nothing to seal, it restores missing index ranges. After a minute without activity it checkpoints the WAL.
 */
export class SealScheduler {
  readonly #writer: LogWriter
  readonly #upkeep: LogWriter['upkeep']
  readonly #sealer: MessagePort
  readonly #sealerEnded: Gate
  readonly #timers: Timers
  readonly #disk: DiskReporter
  readonly #background: BackgroundReporter
  readonly #idle: Timer
  readonly #checkpoint: Timer
  /** Whether the sealer has a task. */
  #isSealing = false
  #isClosed = false
  /** `chunksEnded` when tasks were last planned. Planning queries the database, which takes longer than many a commit. */
  #plannedChunks = -1

  constructor({ writer, sealer, sealerEnded, timers, disk, background, finished }: SealSchedulerOptions) {
    this.#writer = writer
    this.#upkeep = writer.upkeep
    this.#sealer = sealer
    this.#sealerEnded = sealerEnded
    this.#timers = timers
    this.#disk = disk
    this.#background = background
    sealer.on('message', (message: FromSealer) => {
      this.#finish(message)
      finished()
    })
    this.#idle = timers.setTimeout(() => this.#plan(true), idleMs)
    this.#checkpoint = timers.setTimeout(() => this.#attempt('checkpoint', () => this.#checkpointWal()), checkpointMs)
    this.#plan(false)
  }

  /** Called when events were appended: background work that waits for an idle writer waits longer. */
  noteActivity(): void {
    this.#idle.refresh()
    this.#checkpoint.refresh()
  }

  /** Plans the next task if a chunk has ended since the last plan. */
  planAfterAppend(): void {
    if (this.#writer.chunksEnded !== this.#plannedChunks) this.#plan(false)
  }

  /** Applies a finished task. Polls the port: 'message' events are not delivered while this thread blocks. */
  applyFinished(): void {
    const finished = this.#isSealing ? receiveMessageOnPort(this.#sealer) : undefined
    if (finished !== undefined) this.#finish(finished.message as FromSealer)
  }

  /**
   * Whether received chunks have to wait for sealing. Well before appending has to: otherwise chunks of other nodes would
   * hold up local events.
   */
  get isBehindForReceived(): boolean {
    return this.#isWorking && this.#upkeep.hasSealBacklog(tuning.maxUnsealedChunks / 2)
  }

  get #isWorking(): boolean {
    return this.#isSealing && !this.#sealerEnded.isOpen
  }

  /** Backpressure: blocks while too many chunks are unsealed, so that the tail stays short. */
  waitWhileBehind(): void {
    while (this.#isWorking && this.#upkeep.isSealBacklogFull) {
      this.applyFinished()
      if (this.#isSealing) this.#sealerEnded.wait(pollMs)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#timers.clear(this.#idle)
    this.#timers.clear(this.#checkpoint)
    this.#sealer.close()
  }

  #plan(isIdle: boolean): void {
    if (this.#isSealing) return
    this.#plannedChunks = this.#writer.chunksEnded
    const task = this.#attempt('seal', () => this.#nextTask(isIdle))
    if (task !== undefined) {
      this.#isSealing = true
      this.#sealer.postMessage(task)
    } else if (!isIdle || this.#attempt('index', () => this.#reindexNext()) === true) this.#idle.refresh()
  }

  #nextTask(isIdle: boolean): ToSealer | undefined {
    const seal = this.#upkeep.planSeal(isIdle ? 1 : tuning.chunksPerSeal)
    if (seal !== undefined) return { seal }
    const merge = this.#upkeep.planMerge()
    if (merge !== undefined) return { merge }
    if (!isIdle) return undefined
    const times = this.#upkeep.planTimes()
    if (times !== undefined) return { times }
    // Nothing is left that could fail.
    this.#succeeded('seal')
    return undefined
  }

  #reindexNext(): boolean {
    const isReindexed = this.#upkeep.reindexNext()
    this.#succeeded('index')
    return isReindexed
  }

  #checkpointWal(): void {
    this.#writer.checkpointWal()
    this.#succeeded('checkpoint')
  }

  #finish(message: FromSealer): void {
    if (this.#isClosed) return
    assert(this.#isSealing, 'the sealer replies once to each task')
    this.#isSealing = false
    const done = this.#attempt('seal', () => ('error' in message ? this.#skip(message) : this.#apply(message)))
    if (done === true) this.#plan(false)
    // A failed or outdated task changes nothing; it is tried again with the next chunk, or when the writer is idle.
    else this.#idle.refresh()
  }

  /** Skips what is damaged: retrying it forever would block all other work. */
  #skip({ error, task }: Extract<FromSealer, { error: unknown }>): boolean {
    if (error.kind !== 'DamagedData' && error.kind !== 'MalformedBytes') {
      // Without a sealer the tail must neither grow without bound nor block appends.
      if ('seal' in task && this.#upkeep.isSealBacklogFull) return this.#sealInline(task.seal)
      throw fromMessage(error)
    }
    // The events were pruned while their times were read: the next plan is without them.
    if ('times' in task && !this.#upkeep.isCurrent(task.times)) return true
    this.#background.failed('seal' in task ? 'seal' : 'index', fromMessage(error))
    if ('seal' in task) this.#upkeep.disableSealing(task.seal)
    else if ('merge' in task) this.#upkeep.dropDamagedIndex(task.merge)
    else this.#upkeep.skipTimes(task.times)
    return true
  }

  #sealInline(plan: SealPlan): boolean {
    try {
      return this.#upkeep.sealInline(plan)
    } catch (error) {
      if (error instanceof DamagedData || error instanceof MalformedBytes) this.#upkeep.disableSealing(plan)
      throw error
    }
  }

  #apply(message: Exclude<FromSealer, { error: unknown }>): boolean {
    const isApplied = this.#applied(message)
    if ('sealed' in message) releaseSealed(message.sealed)
    if (isApplied) this.#succeeded('seal')
    return isApplied
  }

  #applied(message: Exclude<FromSealer, { error: unknown }>): boolean {
    if ('sealed' in message) return this.#upkeep.applySeal(message.sealed)
    return 'merged' in message ? this.#upkeep.applyMerge(message.merged) : this.#upkeep.applyTimes(message.timesBuilt)
  }

  /** Reports failed background work, which is tried again later. */
  #attempt<T>(work: DiskWork & BackgroundWork, task: () => T): T | undefined {
    try {
      return task()
    } catch (error) {
      this.#background.failed(work, error, this.#disk.failed(work, error))
      return undefined
    }
  }

  #succeeded(work: DiskWork & BackgroundWork): void {
    this.#disk.succeeded(work)
    this.#background.succeeded(work)
  }
}
