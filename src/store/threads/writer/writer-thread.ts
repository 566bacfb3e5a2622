import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { ShoalError } from '../../../base/errors.ts'
import { tuning } from '../../../base/tuning.ts'
import { parsePrivateKey } from '../../../identity/index.ts'
import { release } from '../../../runtime/buffers.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { type Runtime, systemRuntime } from '../../../runtime/system-runtime.ts'
import type { Timer, Timers } from '../../../runtime/timers.ts'
import { type BackgroundNotice, BackgroundReporter, type BackgroundWork } from '../../disk/background.ts'
import { type DiskNotice, DiskReporter, type DiskWork } from '../../disk/disk-notice.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import type { Appended } from '../../port/index.ts'
import { LogWriter, releaseSealed, SharedCounts } from '../../sqlite/index.ts'
import type { FromSealer, ToSealer } from '../sealer/sealer-thread.ts'
import { type ErrorMessage, fromMessage, Gate, type Letter, open, packAppended, toMessage } from '../thread-messages.ts'
import { AnswersTold } from './answers.ts'
import { announcedFrom, Inbox, type Numbered } from './mailbox.ts'
import { Parts } from './request-parts.ts'

export interface WriterData {
  readonly file: string
  readonly topic: string
  readonly kind: 'live' | 'imported'
  readonly privateKey: string
  readonly counts: SharedArrayBuffer
  /** To the thread that seals. */
  readonly sealer: MessagePort
  /** To the thread that reads. */
  readonly commits: MessagePort
  /** Opened when the thread that seals is gone. */
  readonly unsealed: SharedArrayBuffer
  /** Where requests come in. */
  readonly mailbox: SharedArrayBuffer
  /** Where answers may be left. */
  readonly answers: SharedArrayBuffer
}

/** What the writer is asked to do besides appending, by name. */
export type WriterCall =
  | 'receive'
  | 'prune'
  | 'applyPrune'
  | 'redact'
  | 'applyRedaction'
  | 'head'
  | 'dropIndexAt'
  | 'sealAll'
  | 'emptyLog'
  | 'probe'
  | 'close'

/** What comes to the writer besides requests to append. */
export type ToWriter = Numbered &
  (
    | { readonly call: WriterCall; readonly args: readonly unknown[] }
    /** To another thread that reads: the one before it has ended. */
    | { readonly commits: MessagePort }
  )

interface WriterAnswer {
  readonly id: number
  readonly result?: unknown
  readonly error?: ErrorMessage
}

/** What became of a commit, by `packAppended`; or of anything else; or what the disk or background work does. */
export type FromWriter =
  | Float64Array
  | readonly WriterAnswer[]
  | { readonly disk: DiskNotice }
  | { readonly background: BackgroundNotice }

/** What the disk is used for in a call; nothing for those that only read. */
const diskWork: Readonly<Partial<Record<WriterCall, DiskWork>>> = {
  receive: 'receive',
  prune: 'prune',
  applyPrune: 'prune',
  redact: 'redact',
  applyRedaction: 'redact',
  dropIndexAt: 'index',
  sealAll: 'seal',
  emptyLog: 'checkpoint',
}

/** Told when a query met damage of the index; what it asked for was found without it. */
const damagedIndex = 'a piece of it was damaged; it is dropped, and made anew'

/** How long nothing has to happen before there is time to seal, in milliseconds, and before all that is there is sealed. */
const calmMs = 10
const idleMs = 250

/** How long to wait for the next request before going back to the event loop, in milliseconds: whoever publishes often comes sooner. */
const lingerMs = 5

/** How long to work before whatever else the event loop has gets a turn, in milliseconds. */
const awayMs = 100

/**
 * Group commit delay: under concurrent load, a commit waits for about as many requests as the last one had, because two
 * commits cost twice as much as one. Milliseconds per request and in total, from the start of the last commit.
 */
const gatherMs = { perRequest: 0.2, most: 3 } as const

/** Milliseconds without a commit after which the estimate of concurrent requests is reset. */
const forgetMs = 20

/** How long to wait between two looks for what the sealer has done, in milliseconds. */
const pauseMs = 1

/** The thread with the only connection that writes: while it waits for the disk, requests gather and go into the next commit. */
class WriterThread {
  readonly #port: MessagePort
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #disk: DiskReporter
  readonly #background: BackgroundReporter
  readonly #inbox: Inbox<ToWriter>
  readonly #answers: AnswersTold<FromWriter>
  readonly #writer: LogWriter
  readonly #sealer: MessagePort
  #commits: MessagePort
  readonly #unsealed: Gate
  /** Fires when nothing has happened for a moment. */
  readonly #calm: Timer
  #isCalm = true
  /** Fires when nothing has happened for a while. */
  readonly #idle: Timer
  #tidying = false
  /** Whatever comes then is not done any more. */
  #isClosed = false
  /** When the last commit began, and how many requests the next one may have. */
  #last = { began: 0, crowd: 0 }
  /** How many chunks had ended when something to seal was looked for, at all and with time for it: only then there is more. */
  readonly #chunksSeen = { ever: 0, calm: 0 }

  constructor(port: MessagePort, { mailbox, answers, ...data }: WriterData, { clock, timers, random }: Runtime) {
    const { file, topic, kind, privateKey, counts, sealer, commits, unsealed } = data
    this.#port = port
    this.#clock = clock
    this.#timers = timers
    const notify = notifier(port, timers)
    this.#disk = new DiskReporter((disk) => notify({ disk }))
    this.#background = new BackgroundReporter((background) => notify({ background }))
    const background = this.#background
    const notScrubbed = (error: unknown): void =>
      background.failed('redact', error, this.#disk.failed('redact', error, file))
    const key = parsePrivateKey(privateKey)
    this.#writer = new LogWriter(
      { file, topic, kind, key, now: clock.now, random, notScrubbed, background },
      new SharedCounts(counts),
    )
    this.#sealer = sealer
    this.#commits = commits
    this.#unsealed = new Gate(unsealed)
    sealer.on('message', (message: FromSealer) => this.#tidied(message))
    this.#inbox = new Inbox(mailbox, port, clock)
    this.#answers = new AnswersTold(answers, (message) => port.postMessage(message))
    port.on('message', (message: ToWriter | ArrayBuffer | null) => this.#enter(message))
    this.#calm = timers.setTimeout(() => this.#calmDown(), calmMs)
    this.#idle = timers.setTimeout(() => this.#tidy(true), idleMs)
    this.#tidy(false)
  }

  get damage(): readonly StoreDamage[] {
    return this.#writer.damage
  }

  /** Works until nothing comes any more. */
  #enter(message: ToWriter | ArrayBuffer | null): void {
    this.#inbox.enter(message)
    const until = this.#clock.steadyMs() + awayMs
    let hasWorked = false
    do hasWorked = this.#work() || hasWorked
    while (!this.#isClosed && this.#inbox.wait(lingerMs, !this.#tidying) && this.#clock.steadyMs() < until)
    if (this.#isClosed) return
    this.#writer.link()
    // An announced request that never arrived does not count as activity.
    if (hasWorked) {
      this.#writer.noteCount()
      this.#calm.refresh()
      this.#idle.refresh()
    }
    if (!this.#inbox.leave()) this.#timers.setImmediate(() => this.#enter(null))
  }

  /** Sealing takes time from those who publish, so it waits for a pause, unless too much waits for it. */
  #calmDown(): void {
    this.#isCalm = true
    if (this.#writer.chunksEnded !== this.#chunksSeen.calm) this.#tidy(false)
  }

  /** Waits until it is time for the next commit. Whoever publishes alone waits for nobody. */
  #gather(): void {
    const { perRequest, most } = gatherMs
    const { began, crowd } = this.#last
    if (crowd > 1) this.#inbox.gather(crowd, began + Math.min(most, perRequest * crowd))
  }

  /** A commit of so many requests begins. When fewer come than before, the others may be late, or they have gone: half of them are waited for. */
  #begin(requests: number): void {
    const began = this.#clock.steadyMs()
    const others = began - this.#last.began < forgetMs ? Math.floor(this.#last.crowd / 2) : 0
    this.#last = { began, crowd: Math.max(requests, others) }
  }

  /** Does what is there; answers whether there was something. */
  #work(): boolean {
    if (this.#isClosed) return false
    this.#writer.link()
    this.#takeSealed()
    this.#catchUp()
    this.#gather()
    const appends: Letter[] = []
    let bytes = 0
    let hasWorked = false
    for (;;) {
      const next = bytes < tuning.commitBytes && !this.#isClosed ? this.#inbox.next() : undefined
      if (next === undefined) break
      hasWorked = true
      this.#isCalm = false
      if ('request' in next && next.part === 'more') {
        this.#commit(appends.splice(0))
        this.#commitParts(next)
        bytes += tuning.commitBytes
        continue
      }
      if ('request' in next) {
        appends.push(next)
        bytes += next.request.source.length
        continue
      }
      if ('commits' in next) {
        this.#commits.close()
        this.#commits = next.commits
        // The last commits were told to the thread that has ended, and the new one may not have seen them.
        this.#commits.postMessage(null)
        continue
      }
      // Whatever came before it is done before it.
      this.#commit(appends.splice(0))
      const { id, call, args } = next
      this.#answer(id, call, args)
      this.#tellReaders()
    }
    this.#commit(appends)
    this.#inbox.release()
    this.#tellReaders()
    // After a large commit hashing is deferred until the next request, so that the publishing thread gets the CPU.
    if (bytes < announcedFrom) this.#writer.link()
    // Looking for something to seal asks the database, which takes longer than many a commit.
    if (this.#writer.chunksEnded !== this.#chunksSeen.ever) this.#tidy(false)
    return hasWorked
  }

  /** Waits for the sealer when it is too far behind: otherwise the tail would grow for as long as somebody appends. */
  #catchUp(): void {
    while (this.#tidying && !this.#unsealed.isOpen && this.#writer.isBehind) {
      const sealed = receiveMessageOnPort(this.#sealer)
      if (sealed === undefined) this.#unsealed.pass(pauseMs)
      else this.#tidied(sealed.message as FromSealer)
    }
  }

  /** What the sealer has done is not heard here as long as the event loop does not turn. */
  #takeSealed(): void {
    const sealed = this.#tidying ? receiveMessageOnPort(this.#sealer) : undefined
    if (sealed !== undefined) this.#tidied(sealed.message as FromSealer)
  }

  #commit(appends: readonly Letter[]): void {
    if (appends.length === 0) return
    this.#begin(appends.length)
    try {
      const results = this.#writer.append(appends.map(({ request }) => request))
      this.#tellAppended(
        appends.map(({ id }) => id),
        results,
      )
      this.#disk.succeeded('publish')
      for (const { request } of appends) release(request.source)
    } catch (error) {
      // What one of them has done wrong is no failure of the others.
      if (appends.length > 1 && !(error instanceof ShoalError && error.code === 'ERR_STORAGE')) {
        for (const append of appends) this.#commit([append])
        return
      }
      this.#disk.failed('publish', error)
      const message = toMessage(error)
      this.#answers.send(appends.map(({ id }) => ({ id, error: message })))
    }
  }

  /** Nothing else comes before its last part, so what has come is stored while the others are made. */
  #commitParts(first: Letter): void {
    this.#begin(1)
    const { id } = first
    const parts = new Parts(first, () => this.#nextPart())
    try {
      this.#tellAppended([id], [this.#writer.appendParts(parts)])
      this.#disk.succeeded('publish')
    } catch (error) {
      this.#disk.failed('publish', error)
      parts.finish()
      // Whoever gave it up knows.
      if (!parts.isGivenUp) this.#answers.send([{ id, error: toMessage(error) }])
    } finally {
      parts.release()
    }
  }

  #nextPart(): Letter {
    for (;;) {
      const next = this.#inbox.next()
      if (next === undefined) this.#inbox.wait(lingerMs, !this.#tidying)
      else {
        assert('request' in next, 'nothing comes between the parts of a request')
        return next
      }
    }
  }

  #tellAppended(ids: readonly number[], appended: readonly Appended[]): void {
    this.#answers.tell(packAppended(ids, appended))
  }

  /** After the answers: whoever has published something waits for them. */
  #tellReaders(): void {
    if (this.#writer.takeGrown()) this.#commits.postMessage(null)
  }

  #answer(id: number, call: WriterCall, args: readonly unknown[]): void {
    const work = diskWork[call]
    try {
      this.#answers.send([{ id, result: this.#call(call, args) }])
      if (work !== undefined) this.#disk.succeeded(work)
      if (call === 'redact' || call === 'applyRedaction') this.#background.succeeded('redact')
      if (call === 'dropIndexAt') this.#background.failed('index', new Error(damagedIndex))
      if (call === 'probe') this.#disk.recovered(['publish', 'receive', 'prune', 'redact'])
    } catch (error) {
      const isDisk = work !== undefined && this.#disk.failed(work, error)
      if (call === 'dropIndexAt') this.#background.failed('index', error, isDisk)
      this.#answers.send([{ id, error: toMessage(error) }])
    }
  }

  #call(call: WriterCall, args: readonly unknown[]): unknown {
    if (call === 'close') {
      this.#isClosed = true
      this.#timers.clear(this.#calm)
      this.#timers.clear(this.#idle)
      this.#sealer.close()
      this.#commits.close()
      this.#writer.close()
      // After the answer, which would not get through any more.
      this.#timers.setImmediate(() => this.#port.close())
      return undefined
    }
    assert(typeof this.#writer[call] === 'function', `the writer can do what it is asked, also '${call}'`)
    return (this.#writer[call] as (...args: readonly unknown[]) => unknown)(...args)
  }

  /** Has chunks sealed when there are enough of them, and whatever else is to be done once nothing happens any more. */
  #tidy(idle: boolean): void {
    if (this.#tidying) return
    this.#chunksSeen.ever = this.#writer.chunksEnded
    if (this.#isCalm) this.#chunksSeen.calm = this.#writer.chunksEnded
    const task = this.#attempt('seal', () => this.#nextTask(idle))
    if (task !== undefined) {
      this.#tidying = true
      this.#sealer.postMessage(task)
    } else if (idle && this.#attempt('index', () => this.#reindexNext()) !== true)
      this.#attempt('checkpoint', () => this.#foldLog())
    else this.#idle.refresh()
  }

  #reindexNext(): boolean {
    const isMade = this.#writer.reindexNext()
    this.#succeeded('index')
    return isMade
  }

  #foldLog(): void {
    this.#writer.foldLog()
    this.#succeeded('checkpoint')
  }

  #nextTask(idle: boolean): ToSealer | undefined {
    const hasTime = this.#isCalm || this.#writer.isBehind
    const enough = hasTime ? tuning.chunksPerSeal : tuning.unsealedChunksUnderLoad
    const seal = this.#writer.planSeal(idle ? 1 : enough)
    if (seal !== undefined) return { seal }
    const merge = this.#writer.planMerge()
    if (merge !== undefined) return { merge }
    // Nothing is left that could fail.
    if (idle) this.#succeeded('seal')
    return undefined
  }

  #tidied(message: FromSealer): void {
    if (this.#isClosed) return
    assert(this.#tidying, 'the sealer answers a task that it was given, once')
    this.#tidying = false
    const done = this.#attempt('seal', () => ('error' in message ? this.#skip(message) : this.#apply(message)))
    // What could not be done stays as it is: nothing is lost by it, and the next try comes with the next chunk.
    if (done === true) this.#tidy(false)
  }

  /** What is damaged is not tried again and again: whatever else is to be done would never be. */
  #skip({ error, task }: Extract<FromSealer, { error: unknown }>): boolean {
    if (error.kind !== 'DamagedData' && error.kind !== 'MalformedBytes') {
      // Without a sealer the tail must not grow for ever, nor block those who append.
      if ('seal' in task && this.#writer.isBehind) return this.#writer.sealHere(task.seal)
      throw fromMessage(error)
    }
    this.#background.failed('seal' in task ? 'seal' : 'index', fromMessage(error))
    if ('seal' in task) this.#writer.doNotSeal(task.seal)
    else this.#writer.dropDamaged(task.merge)
    return true
  }

  #apply(message: Exclude<FromSealer, { error: unknown }>): boolean {
    if ('merged' in message) return this.#applied(this.#writer.applyMerge(message.merged))
    const isApplied = this.#writer.applySeal(message.sealed)
    releaseSealed(message.sealed)
    return this.#applied(isApplied)
  }

  #applied(isApplied: boolean): boolean {
    if (isApplied) this.#succeeded('seal')
    return isApplied
  }

  /** Background work: when it fails, that is reported, and it is done another time. */
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

/** Posts notices in order. Those of the start wait, since the first message of a thread says that it is open. */
function notifier(
  port: MessagePort,
  timers: Timers,
): (message: Extract<FromWriter, { disk: unknown } | { background: unknown }>) => void {
  let isOpening = true
  timers.setImmediate(() => {
    isOpening = false
  })
  return (message) => {
    if (isOpening) timers.setImmediate(() => port.postMessage(message))
    else port.postMessage(message)
  }
}

const port = parentPort
assert(port !== null, 'the writer runs in a thread of its own')
const openWriter = (): WriterThread => new WriterThread(port, workerData as WriterData, systemRuntime)
open(port, openWriter, undefined, ({ damage }) => damage)
