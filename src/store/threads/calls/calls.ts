import type { MessagePort, TransferListItem, Worker } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { failure } from '../../../base/errors.ts'
import { isOutOfDescriptors } from '../../../runtime/descriptors.ts'
import type { Timers } from '../../../runtime/timers.ts'
import { type BackgroundNotice, BackgroundReporter } from '../../disk/background.ts'
import { type DiskNotice, DiskReporter, type DiskWork } from '../../disk/disk-notice.ts'
import type { StoreDamage } from '../../disk/wal-check.ts'
import { PendingCalls } from '../pending-calls.ts'
import { noWatch, spawn, type ThreadName, type ThreadWatch, threadUnavailable, untilOpen } from '../spawn.ts'
import { type ErrorMessage, fromMessage, openAndReport, toMessage } from '../thread-messages.ts'

interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: ErrorMessage
}

type FromThread = Reply | { readonly background: BackgroundNotice }

type Method = (...args: never) => unknown

/**
 * Creates an object in a worker thread and runs calls of its methods, one at a time: an asynchronous call is settled
 * before the next one starts. A buffer that a method returns is transferred, not copied.
 */
export function serveCalls<T extends object & { readonly damage?: readonly StoreDamage[] }>(
  port: MessagePort,
  timers: Timers,
  make: (background: BackgroundReporter) => T,
): void {
  const openTarget = (): T => {
    // Delayed: the first message of a thread reports that it is open.
    const notify = (background: BackgroundNotice): void =>
      timers.setImmediate(() => port.postMessage({ background } satisfies FromThread))
    const target = make(new BackgroundReporter(notify))
    const queue: Call[] = []
    let isBusy = false
    const drain = async (): Promise<void> => {
      isBusy = true
      for (let call = queue.shift(); call !== undefined; call = queue.shift()) await runCall(port, target, call)
      isBusy = false
    }
    port.on('message', (call: Call) => {
      queue.push(call)
      if (!isBusy) void drain()
    })
    return target
  }
  openAndReport(port, openTarget, undefined, ({ damage = [] }) => damage)
}

async function runCall(port: MessagePort, target: object, { id, name, args }: Call): Promise<void> {
  try {
    const method: unknown = target[name as keyof typeof target]
    assert(typeof method === 'function', `the thread has a method '${name}'`)
    const result: unknown = await method.apply(target, args as unknown[])
    port.postMessage({ id, result } satisfies Reply, transferListOf(result))
  } catch (error) {
    port.postMessage({ id, error: toMessage(error) } satisfies Reply)
  }
}

function transferListOf(result: unknown): TransferListItem[] {
  if (result instanceof ArrayBuffer) return [result]
  return result instanceof Uint8Array && result.buffer instanceof ArrayBuffer ? [result.buffer] : []
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
}

/** A proxy for an object in a worker thread, which is started by the first call. */
export class CalledThread<T extends { close(): void | Promise<void> }> {
  readonly #name: ThreadName
  readonly #module: URL
  readonly #workerData: unknown
  readonly #threads: ThreadWatch
  readonly #onDamage: (damage: StoreDamage) => void
  readonly #onBackground: (notice: BackgroundNotice) => void
  readonly #pending = new PendingCalls()
  readonly #use: DiskUse<T> | undefined
  readonly #disk: DiskReporter
  #thread: Promise<Worker> | undefined
  #isClosed = false

  constructor(
    name: ThreadName,
    module: URL,
    workerData: unknown,
    { threads, onDamage, disk, background }: CalledThreadOptions<T> = {},
  ) {
    this.#name = name
    this.#module = module
    this.#workerData = workerData
    this.#threads = threads ?? noWatch
    this.#onDamage = onDamage ?? (() => {})
    this.#onBackground = background ?? (() => {})
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
    try {
      this.#thread ??= this.#start()
      const result = await this.#post(await this.#thread, name, args, transfer)
      if (work !== undefined && this.#use?.proof.has(name)) this.#disk.succeeded(work)
      return result as T[K] extends Method ? Awaited<ReturnType<T[K]>> : never
    } catch (error) {
      if (work !== undefined) this.#disk.failed(work, error)
      throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    // If the start failed, its caller got the error, and there is nothing to close.
    const thread = await this.#thread?.catch(() => undefined)
    if (thread === undefined) return
    await this.#post(thread, 'close', [], [])
    await thread.terminate()
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
