import { type MessagePort, type TransferListItem, Worker } from 'node:worker_threads'
import { failure } from '../../errors.ts'
import { limits } from '../../limits.ts'
import { type ErrorMessage, fromMessage, type Opened, open, toMessage } from './messages.ts'

interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

interface Answer {
  readonly id: number
  readonly result?: unknown
  readonly error?: ErrorMessage
}

interface Waiting {
  resolve(value: unknown): void
  reject(error: Error): void
}

type Method = (...args: never) => unknown

/** Opens something in a thread, and answers calls of its methods. Bytes as an answer are handed over, not copied. */
export function answerCalls<T extends object>(port: MessagePort, make: () => T): void {
  open(port, () => {
    const target = make()
    port.on('message', ({ id, name, args }: Call) => {
      try {
        const method = target[name as keyof T] as (...args: readonly unknown[]) => unknown
        const result = method.apply(target, args as unknown[])
        port.postMessage({ id, result } satisfies Answer, handedOver(result))
      } catch (error) {
        port.postMessage({ id, error: toMessage(error) } satisfies Answer)
      }
    })
  })
}

function handedOver(result: unknown): TransferListItem[] {
  if (result instanceof ArrayBuffer) return [result]
  return result instanceof Uint8Array && result.buffer instanceof ArrayBuffer ? [result.buffer] : []
}

/** Something in a thread of its own, which starts with the first call. It has a method to close it. */
export class CalledThread<T extends { close(): void }> {
  readonly #module: URL
  readonly #workerData: unknown
  readonly #waiting = new Map<number, Waiting>()
  #thread: Promise<Worker> | undefined
  #nextId = 0
  #isClosed = false

  constructor(module: URL, workerData: unknown) {
    this.#module = module
    this.#workerData = workerData
  }

  /** Calls a method; memory in the list is handed over to the thread. */
  async call<K extends keyof T & string>(
    name: K,
    args: T[K] extends (...args: infer A) => unknown ? A : never,
    transfer: readonly TransferListItem[] = [],
  ): Promise<T[K] extends Method ? ReturnType<T[K]> : never> {
    if (this.#isClosed) throw failure('ERR_SHUTTING_DOWN', {})
    this.#thread ??= this.#start()
    const result = await this.#post(await this.#thread, name, args, transfer)
    return result as T[K] extends Method ? ReturnType<T[K]> : never
  }

  async close(): Promise<void> {
    this.#isClosed = true
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
    return new Promise((resolve, reject) => {
      const id = this.#nextId++
      this.#waiting.set(id, { resolve, reject })
      thread.postMessage({ id, name, args } satisfies Call, transfer)
    })
  }

  async #start(): Promise<Worker> {
    const resourceLimits = { maxYoungGenerationSizeMb: limits.youngGenerationMb }
    const thread = new Worker(this.#module, { workerData: this.#workerData, resourceLimits })
    try {
      await opened(thread)
    } catch (error) {
      // Whoever comes next tries again.
      this.#thread = undefined
      await thread.terminate()
      throw error
    }
    thread.on('message', (message: Answer) => this.#settle(message))
    thread.on('error', (error) => this.#fail(error))
    return thread
  }

  #settle({ id, result, error }: Answer): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (error === undefined) waiting?.resolve(result)
    else waiting?.reject(fromMessage(error))
  }

  /** A thread that broke is replaced by the next call. */
  #fail(error: Error): void {
    this.#thread = undefined
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}

async function opened(thread: Worker): Promise<void> {
  const { error } = await new Promise<Opened>((resolve, reject) => {
    thread.once('message', resolve)
    thread.once('error', reject)
  })
  thread.removeAllListeners('error')
  if (error !== undefined) throw fromMessage(error)
}
