import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import type { Caller, CallerMessage, CallResult } from './writer-messages.ts'

interface LinkedCallersOptions {
  /** Called when a message has arrived while the thread was idle. */
  readonly arrived: () => void
  /** Called when a linked thread has ended, or has closed its port. */
  readonly ended: (caller: Caller) => void
}

/** The threads besides the main thread that call the writer, over ports of their own. They take turns. */
export class LinkedCallers {
  readonly #options: LinkedCallersOptions
  /** The one whose turn is next is the first. */
  #callers: LinkedCaller[] = []

  constructor(options: LinkedCallersOptions) {
    this.#options = options
  }

  add(port: MessagePort): void {
    const caller = new LinkedCaller(port)
    this.#callers.push(caller)
    port.on('message', (message: CallerMessage) => {
      caller.arrived.push(message)
      this.#options.arrived()
    })
    port.on('close', () => {
      this.#callers = this.#callers.filter((other) => other !== caller)
      this.#options.ended(caller)
    })
  }

  /** The next message, with the one who sent it. */
  next(): { readonly caller: Caller; readonly message: CallerMessage } | undefined {
    for (const [i, caller] of this.#callers.entries()) {
      const message = caller.next()
      if (message === undefined) continue
      this.#callers = [...this.#callers.slice(i + 1), ...this.#callers.slice(0, i + 1)]
      return { caller, message }
    }
    return undefined
  }

  close(): void {
    for (const { port } of this.#callers) port.close()
  }
}

class LinkedCaller implements Caller {
  readonly port: MessagePort
  /** Messages that the event loop has delivered. */
  readonly arrived: CallerMessage[] = []

  constructor(port: MessagePort) {
    this.port = port
  }

  next(): CallerMessage | undefined {
    return this.arrived.shift() ?? (receiveMessageOnPort(this.port)?.message as CallerMessage | undefined)
  }

  reply(results: readonly CallResult[]): void {
    assert(results.length > 0, 'a reply has results')
    this.port.postMessage(results)
  }
}
