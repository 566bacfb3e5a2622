import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { ShoalError } from '../../../base/errors.ts'
import { tuning } from '../../../base/tuning.ts'
import { fastPaths } from '../../../fast-paths/index.ts'
import { parsePrivateKey } from '../../../identity/index.ts'
import { release } from '../../../runtime/buffers.ts'
import type { Clock } from '../../../runtime/clock.ts'
import { type Runtime, systemRuntime } from '../../../runtime/system-runtime.ts'
import type { Timers } from '../../../runtime/timers.ts'
import { BackgroundReporter } from '../../disk/background.ts'
import { DiskReporter } from '../../disk/disk-notice.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import { LogWriter, SharedCounts, type VerifiedChunk } from '../../sqlite/index.ts'
import { PostSignal } from '../post-signal.ts'
import { type ReaderLink, ReaderWaker } from '../reader/reader-link.ts'
import {
  Gate,
  openAndReport,
  packAppended,
  type ReceivedRequest,
  toMessage,
  unpackRequest,
} from '../thread-messages.ts'
import { Announcements } from './announcements.ts'
import { LinkedCallers } from './linked-callers.ts'
import { ReceiveQueue } from './receive-queue.ts'
import { SealScheduler } from './seal-scheduler.ts'
import {
  type Caller,
  type CallerMessage,
  type CallMessage,
  diskWork,
  type FromWriter,
  isReceive,
  linkedCalls,
  type ToWriter,
  type WriterCall,
  type WriterData,
} from './writer-messages.ts'

/** Reported when a query met a damaged part of the index; its result was found without it. */
const damagedIndex = 'a piece of it was damaged; it is dropped, and made anew'

/**
 * Milliseconds after which the thread returns to its event loop, whatever is queued. Under load timers and other ports
 * may starve even then, since Node first delivers all queued messages of this port: nothing here relies on them.
 */
const runMs = 100

/**
 * The thread with the only connection that writes. Group commit: requests that arrive while it waits for the disk go
 * into the next commit together.
 */
class WriterThread {
  readonly #port: MessagePort
  readonly #clock: Clock
  readonly #timers: Timers
  readonly #disk: DiskReporter
  readonly #background: BackgroundReporter
  readonly #posts: PostSignal
  readonly #writer: LogWriter
  readonly #seals: SealScheduler
  readonly #receives: ReceiveQueue
  /** The reader threads, which are woken after each commit that matches their wake-up filter. */
  readonly #readers = new Map<number, ReaderWaker>()
  readonly #announcements: Announcements
  readonly #main: Caller = { reply: (results) => this.#port.postMessage(results satisfies FromWriter) }
  readonly #linked: LinkedCallers
  #isClosed = false

  constructor(port: MessagePort, data: WriterData, { clock, timers, random }: Runtime) {
    const { file, topic, kind, privateKey, counts, sealer } = data
    this.#port = port
    this.#clock = clock
    this.#timers = timers
    const notify = notifier(port, timers)
    const disk = new DiskReporter((disk) => notify({ disk }))
    const background = new BackgroundReporter((background) => notify({ background }))
    this.#disk = disk
    this.#background = background
    const onScrubFailed = (error: unknown): void =>
      background.failed('redact', error, disk.failed('redact', error, file))
    const key = parsePrivateKey(privateKey)
    const writer = new LogWriter(
      { file, topic, kind, key, now: clock.now, random, onScrubFailed, background },
      new SharedCounts(counts),
    )
    this.#writer = writer
    const sealerEnded = new Gate(data.sealerEnded)
    // Received chunks may have waited until sealing has caught up.
    const finished = (): void => {
      if (this.#mayReceive) this.#run(undefined)
    }
    this.#seals = new SealScheduler({ writer, sealer, sealerEnded, timers, disk, background, finished })
    this.#receives = new ReceiveQueue({ writer, disk })
    this.#announcements = new Announcements(writer)
    this.#linked = new LinkedCallers({ arrived: () => this.#run(undefined), ended: (caller) => this.#ended(caller) })
    this.#posts = new PostSignal(data.posts)
    port.on('message', (message: ToWriter) => this.#run(message))
  }

  get damage(): readonly StoreDamage[] {
    return this.#writer.damage
  }

  /** Processes a message and all that follow it, until none arrives for a moment. */
  #run(message: ToWriter | undefined): void {
    if (this.#isClosed) return
    const end = this.#clock.steadyMs() + runMs
    let first: ToWriter | undefined = message
    let hasMore = true
    // At least once: the first message is no longer in the port.
    do {
      // Read before the messages: one that is posted later ends the wait at once.
      const posted = this.#posts.count
      hasMore = this.#processBatch(first) || this.#posts.wait(posted, fastPaths.writerBlocksMs)
      first = undefined
    } while (hasMore && !this.#isClosed && this.#clock.steadyMs() < end)
    if (this.#isClosed) return
    this.#writer.recordEventCount()
    this.#seals.noteActivity()
    if (this.#mayReceive) this.#timers.setImmediate(() => this.#run(undefined))
  }

  /** Whether a received chunk can be stored now: not while sealing is behind. */
  get #mayReceive(): boolean {
    return !this.#receives.isEmpty && !this.#seals.isBehindForReceived
  }

  /** Processes the messages that have arrived, as far as they fit into one commit. Returns whether some may be left. */
  #processBatch(first: ToWriter | undefined): boolean {
    this.#seals.applyFinished()
    this.#seals.waitWhileBehind()
    const appends: ReceivedRequest[] = []
    let bytes = 0
    let next = this.#nextOther(first)
    while (next !== undefined) {
      if (next instanceof ArrayBuffer) {
        appends.push(unpackRequest(next))
        bytes += next.byteLength
      } else {
        // Requests that were posted before a call are committed before it.
        this.#commit(appends.splice(0))
        // Before the call, which may be a redaction of one of these events.
        this.#announcements.announce()
        if ('reader' in next) this.#connectReader(next.reader, next.link)
        else if ('caller' in next) this.#linked.add(next.caller)
        else this.#take(this.#main, next)
        if (this.#isClosed) return false
        // Each call gets a batch, so that calls without a pause cannot delay sealing.
        break
      }
      if (bytes >= tuning.commitBytes) break
      next = this.#nextOther(undefined)
    }
    this.#commit(appends)
    const hasCalled = this.#takeLinked()
    // Local appends first: received chunks are stored one commit at a time, when no message waits.
    const isReceiving = next === undefined && !hasCalled && this.#mayReceive
    const reply = isReceiving ? this.#receives.step() : undefined
    this.#notifyReaders()
    // A subscriber waits for received events, not the peer that has sent them.
    reply?.()
    // After the results were posted, off the latency path.
    this.#writer.link()
    this.#announcements.announce()
    this.#seals.planAfterAppend()
    return next !== undefined || hasCalled || isReceiving
  }

  #next(): ToWriter | undefined {
    return receiveMessageOnPort(this.#port)?.message as ToWriter | undefined
  }

  /** The next message but received chunks, which are put aside until no other message waits. */
  #nextOther(first: ToWriter | undefined): ToWriter | undefined {
    let next = first ?? this.#next()
    while (isReceive(next)) {
      this.#putAside(this.#main, next)
      next = this.#next()
    }
    return next
  }

  /** Processes one message of a linked thread: after local appends, and however many of these wait. */
  #takeLinked(): boolean {
    let next = this.#linked.next()
    while (next !== undefined && isReceive(next.message)) {
      this.#putAside(next.caller, next.message)
      next = this.#linked.next()
    }
    if (next === undefined) return false
    const { caller, message } = next
    assert('commits' in message || linkedCalls.has(message.call), 'a linked thread calls what replication needs')
    this.#take(caller, message)
    return true
  }

  #putAside(caller: Caller, { id, args }: CallMessage): void {
    const [chunks, from] = args as [readonly VerifiedChunk[], string | undefined]
    this.#receives.add(caller, id, chunks, from)
  }

  /** A linked thread has ended, maybe unexpectedly. */
  #ended(caller: Caller): void {
    this.#receives.drop(caller)
    if (!this.#isClosed) this.#announcements.connect(caller, undefined)
  }

  #connectReader(reader: number, link: ReaderLink): void {
    this.#readers.get(reader)?.close()
    const waker = new ReaderWaker(link)
    this.#readers.set(reader, waker)
    // Its jobs may not have seen the last commits.
    waker.wake()
  }

  #commit(appends: readonly ReceivedRequest[]): void {
    if (appends.length === 0) return
    try {
      const results = this.#writer.append(appends.map(({ request }) => request))
      const ids = appends.map(({ id }) => id)
      this.#port.postMessage(packAppended(ids, results) satisfies FromWriter)
      this.#disk.succeeded('publish')
      for (const { request } of appends) release(request.source)
    } catch (error) {
      // An invalid request must not fail the others.
      if (appends.length > 1 && !(error instanceof ShoalError && error.code === 'ERR_STORAGE')) {
        for (const append of appends) this.#commit([append])
        return
      }
      this.#disk.failed('publish', error)
      const message = toMessage(error)
      this.#main.reply(appends.map(({ id }) => ({ id, error: message })))
      for (const { request } of appends) release(request.source)
    }
  }

  /** Called after the results were posted: a publisher waits for these. */
  #notifyReaders(): void {
    for (const reader of this.#writer.takeWakeups(this.#readers.keys())) this.#readers.get(reader)?.wake()
  }

  #take(caller: Caller, message: CallerMessage): void {
    if ('commits' in message) this.#announcements.connect(caller, message.commits)
    else this.#process(caller, message)
  }

  #process(caller: Caller, { id, call, args }: CallMessage): void {
    const work = diskWork[call]
    try {
      caller.reply([{ id, result: this.#call(call, args) }])
      if (work !== undefined) this.#disk.succeeded(work)
      if (call === 'redact' || call === 'applyRedactions') this.#background.succeeded('redact')
      if (call === 'dropIndexAt') this.#background.failed('index', new Error(damagedIndex))
      if (call === 'probe') this.#disk.recovered(['publish', 'receive', 'prune', 'redact'])
    } catch (error) {
      const isDisk = work !== undefined && this.#disk.failed(work, error)
      if (call === 'dropIndexAt') this.#background.failed('index', error, isDisk)
      caller.reply([{ id, error: toMessage(error) }])
    }
  }

  #call(call: WriterCall, args: readonly unknown[]): unknown {
    if (call === 'close' || call === 'sealAll') this.#receives.drain()
    if (call === 'close') {
      this.#isClosed = true
      this.#seals.close()
      for (const reader of this.#readers.values()) reader.close()
      this.#announcements.close()
      this.#linked.close()
      this.#writer.close()
      // After the reply, which a closed port would not deliver.
      this.#timers.setImmediate(() => this.#port.close())
      return undefined
    }
    assert(typeof this.#writer[call] === 'function', `the writer has a method '${call}'`)
    return (this.#writer[call] as (...args: readonly unknown[]) => unknown)(...args)
  }
}

/** Posts notices in order. Those of the start are delayed: the first message of a thread reports that it is open. */
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
assert(port !== null, 'the writer runs in its own thread')
const openWriter = (): WriterThread => new WriterThread(port, workerData as WriterData, systemRuntime)
openAndReport(port, openWriter, undefined, ({ damage }) => damage)
