import type { MessagePort, TransferListItem, Worker } from 'node:worker_threads'
import { failure } from '../../errors.ts'
import { restAfterWork } from '../../resting.ts'
import { type ErrorMessage, fromMessage, open, toMessage } from './messages.ts'
import { spawn, untilOpen } from './spawn.ts'
import { Waiting } from './waiting.ts'

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

type Method = (...args: never) => unknown

/** Opens something in a thread, and answers calls of its methods. Bytes as an answer are handed over, not copied. */
export function answerCalls<T extends { rest(): void }>(port: MessagePort, make: () => T): void {
  open(port, () => {
    const target = make()
    restAfterWork({ begins: () => target.rest() })
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
  readonly #waiting = new Waiting()
  #thread: Promise<Worker> | undefined
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
    return this.#waiting.ask((id) => thread.postMessage({ id, name, args } satisfies Call, transfer))
  }

  async #start(): Promise<Worker> {
    const thread = spawn(this.#module, this.#workerData)
    try {
      await untilOpen(thread)
    } catch (error) {
      // Whoever comes next tries again.
      this.#thread = undefined
      await thread.terminate()
      throw error
    }
    thread.on('message', ({ id, result, error }: Answer) =>
      this.#waiting.settle(id, result, error && fromMessage(error)),
    )
    // A thread that broke is replaced by the next call.
    thread.on('error', (error) => {
      this.#thread = undefined
      this.#waiting.failAll(error)
    })
    return thread
  }
}
