import { MessageChannel, type MessagePort, type TransferListItem, type Worker } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { failure } from '../../../base/errors.ts'
import { isOutOfDescriptors } from '../../../runtime/descriptors.ts'
import type { Timers } from '../../../runtime/timers.ts'
import { type BackgroundNotice, BackgroundReporter } from '../../disk/background.ts'
import { type DiskNotice, DiskReporter, type DiskWork } from '../../disk/disk-notice.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import { PendingCalls } from '../pending-calls.ts'
import { noWatch, spawn, type ThreadName, type ThreadWatch, threadUnavailable, untilOpen } from '../spawn.ts'
import { fromMessage, openAndReport } from '../thread-messages.ts'
import { type Call, CallTurns, type Reply } from './call-turns.ts'

/** A message to the thread: a call of the main thread, or the port of another thread that calls. */
type ToThread = Call | { readonly link: MessagePort }

type FromThread = Reply | { readonly background: BackgroundNotice } | { readonly notice: unknown }

/** How an object in a thread reports what is not the answer to a call. */
export interface ThreadReports {
  readonly background: BackgroundReporter
  /** Sends a notice to the main thread. */
  readonly notify: (notice: unknown) => void
}

/** The calls that another thread than the main thread makes. */
export interface LinkTarget {
  /** The other thread has ended. */
  ended(): void
}

/** An object whose methods are called from other threads. */
interface ServedObject {
  readonly damage?: readonly StoreDamage[]
  /** Makes the object for the calls of another thread than the main thread. `post` sends a notice to that thread. */
  link?(post: (notice: unknown) => void): LinkTarget
}

type Method = (...args: never) => unknown

/**
 * Creates an object in a worker thread and runs calls of its methods: those of the main thread, and those of threads
 * that are linked to it.
 */
export function serveCalls<T extends object & ServedObject>(
  port: MessagePort,
  timers: Timers,
  make: (reports: ThreadReports) => T,
): void {
  const openTarget = (): T => {
    // Delayed: the first message of a thread reports that it is open.
    const post = (message: FromThread): void => void timers.setImmediate(() => port.postMessage(message))
    const background = new BackgroundReporter((notice) => post({ background: notice }))
    const target = make({ background, notify: (notice) => post({ notice }) })
    const turns = new CallTurns()
    const call = turns.add(port, target)
    port.on('message', (message: ToThread) => {
      if ('link' in message) addLink(turns, target, message.link)
      else call(message)
    })
    return target
  }
  openAndReport(port, openTarget, undefined, ({ damage = [] }) => damage)
}

function addLink(turns: CallTurns, target: ServedObject, port: MessagePort): void {
  const linked = target.link?.((notice) => port.postMessage({ notice }))
  assert(linked !== undefined, 'the thread can be linked to another one')
  port.on('message', turns.add(port, linked))
  port.on('close', () => linked.ended())
}

/** The kinds of disk work that the calls of a thread do. */
export interface DiskUse<T> {
  readonly notify: (notice: DiskNotice) => void
  readonly work: Readonly<Partial<Record<keyof T, DiskWork>>>
  /** The calls whose success proves that the disk works. */
  readonly proof: ReadonlySet<keyof T>
}

export interface CalledThreadOptions<T> {
  /** Notified of starts and ends of the thread. The next call restarts it. */
  readonly threads?: ThreadWatch | undefined
  /** Called for damage that was found when the thread opened its store, and did not prevent it. */
  readonly onDamage?: ((damage: StoreDamage) => void) | undefined
  readonly disk?: DiskUse<T>
  /** Called when background work of the thread fails, and when it works again. */
  readonly background?: ((notice: BackgroundNotice) => void) | undefined
  /** Called when a call begins; what it returns is called when the call ends. */
  readonly measure?: ((call: string) => () => void) | undefined
  /** Called for notices of the object. */
  readonly onNotice?: ((notice: unknown) => void) | undefined
}

/** A proxy for an object in a worker thread, which is started by the first call. */
export class CalledThread<T extends { close(): void | Promise<void> }> {
  readonly #name: ThreadName
  readonly #module: URL
  readonly #workerData: unknown
  readonly #threads: ThreadWatch
  readonly #onDamage: (damage: StoreDamage) => void
  readonly #onBackground: (notice: BackgroundNotice) => void
  readonly #onNotice: (notice: unknown) => void
  readonly #measure: (call: string) => () => void
  readonly #pending = new PendingCalls()
  readonly #use: DiskUse<T> | undefined
  readonly #disk: DiskReporter
  #thread: Promise<Worker> | undefined
  #isClosed = false

  constructor(
    name: ThreadName,
    module: URL,
    workerData: unknown,
    { threads, onDamage, disk, background, measure, onNotice }: CalledThreadOptions<T> = {},
  ) {
    this.#name = name
    this.#module = module
    this.#workerData = workerData
    this.#threads = threads ?? noWatch
    this.#onDamage = onDamage ?? (() => {})
    this.#onBackground = background ?? (() => {})
    this.#onNotice = onNotice ?? (() => {})
    this.#measure = measure ?? (() => () => {})
    this.#use = disk
    this.#disk = new DiskReporter(disk?.notify)
  }

  /** Reports that the disk works again. */
  recovered(): void {
    this.#disk.recovered(Object.values(this.#use?.work ?? {}) as DiskWork[])
  }

  /** Calls a method of the object. Buffers in `transfer` are transferred to the thread. */
  async call<K extends keyof T & string>(
    name: K,
    args: T[K] extends (...args: infer A) => unknown ? A : never,
    transfer: readonly TransferListItem[] = [],
  ): Promise<T[K] extends Method ? Awaited<ReturnType<T[K]>> : never> {
    if (this.#isClosed) throw failure('ERR_SHUTTING_DOWN', {})
    const work = this.#use?.work[name]
    const ended = this.#measure(name)
    try {
      this.#thread ??= this.#start()
      const result = await this.#post(await this.#thread, name, args, transfer)
      if (work !== undefined && this.#use?.proof.has(name)) this.#disk.succeeded(work)
      return result as T[K] extends Method ? Awaited<ReturnType<T[K]>> : never
    } catch (error) {
      if (work !== undefined) this.#disk.failed(work, error)
      throw error
    } finally {
      ended()
    }
  }

  /**
   * Makes a link for another thread, which calls the object over the port that is returned. The link ends with this
   * thread or the other one.
   */
  async link(): Promise<MessagePort> {
    if (this.#isClosed) throw failure('ERR_SHUTTING_DOWN', {})
    this.#thread ??= this.#start()
    const thread = await this.#thread
    const { port1: link, port2 } = new MessageChannel()
    thread.postMessage({ link } satisfies ToThread, [link])
    return port2
  }

  async close(): Promise<void> {
    this.#isClosed = true
    // If the start failed, its caller got the error, and there is nothing to close.
    const thread = await this.#thread?.catch(() => undefined)
    if (thread === undefined) return
    try {
      await this.#post(thread, 'close', [], [])
    } finally {
      // Another thread may open the same database after this.
      await thread.terminate()
    }
  }

  #post(
    thread: Worker,
    name: string,
    args: readonly unknown[],
    transfer: readonly TransferListItem[],
  ): Promise<unknown> {
    return this.#pending.add((id) => thread.postMessage({ id, name, args } satisfies Call, transfer))
  }

  async #start(): Promise<Worker> {
    const thread = spawn(this.#module, this.#workerData)
    try {
      await untilOpen(thread, this.#onDamage)
    } catch (error) {
      // The next call tries again.
      this.#thread = undefined
      await thread.terminate()
      if (!isOutOfDescriptors(error)) throw error
      const reason = threadUnavailable(this.#name, error)
      this.#threads.startFailed(this.#name, reason)
      throw reason
    }
    thread.on('message', (message: FromThread) => {
      if ('background' in message) this.#onBackground(message.background)
      else if ('notice' in message) this.#onNotice(message.notice)
      else this.#pending.settle(message.id, message.result, message.error && fromMessage(message.error))
    })
    this.#watch(thread)
    this.#threads.started(this.#name)
    return thread
  }

  /** Fails pending calls when the thread ends. The next call starts another one. */
  #watch(thread: Worker): void {
    let cause = new Error(`the ${this.#name} thread has ended`)
    thread.on('error', (error) => {
      cause = error
    })
    thread.on('exit', () => {
      this.#thread = undefined
      this.#pending.failAll(cause)
      if (!this.#isClosed) this.#threads.ended(this.#name, cause)
    })
  }
}
