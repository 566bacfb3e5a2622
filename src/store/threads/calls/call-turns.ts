import type { MessagePort, TransferListItem } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { type ErrorMessage, toMessage } from '../thread-messages.ts'

/** A call of a method of an object in another thread. */
export interface Call {
  readonly id: number
  readonly name: string
  readonly args: readonly unknown[]
}

export interface Reply {
  readonly id: number
  readonly result?: unknown
  readonly error?: ErrorMessage
}

/** The calls of one thread. */
interface CallingThread {
  readonly port: MessagePort
  readonly target: object
  /** Bounded by the callers. */
  readonly calls: Call[]
}

/**
 * Runs the calls of several threads, one at a time: an asynchronous call is settled before the next one starts. The
 * threads take turns, so that none waits for more than one call of another. A buffer that a method returns is
 * transferred, not copied.
 */
export class CallTurns {
  /** The one whose turn is next is the first. */
  readonly #callers = new Set<CallingThread>()
  #isBusy = false

  /** Runs the calls that come over a port on an object. */
  add(port: MessagePort, target: object): (call: Call) => void {
    const caller: CallingThread = { port, target, calls: [] }
    this.#callers.add(caller)
    // What waits for a thread that has ended is dropped.
    port.on('close', () => this.#callers.delete(caller))
    return (call) => {
      caller.calls.push(call)
      if (!this.#isBusy) void this.#run()
    }
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    for (let next = this.#next(); next !== undefined; next = this.#next()) await runCall(next.caller, next.call)
    this.#isBusy = false
  }

  #next(): { readonly caller: CallingThread; readonly call: Call } | undefined {
    for (const caller of this.#callers) {
      const call = caller.calls.shift()
      if (call === undefined) continue
      this.#callers.delete(caller)
      this.#callers.add(caller)
      return { caller, call }
    }
    return undefined
  }
}

async function runCall({ port, target }: CallingThread, { id, name, args }: Call): Promise<void> {
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
