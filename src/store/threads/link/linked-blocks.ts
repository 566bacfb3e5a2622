import type { MessagePort } from 'node:worker_threads'
import type { BlockNotice, ExchangedBlocks, FetchedBlock, WantedList } from '../../port/index.ts'
import type { Reply } from '../calls/call-turns.ts'
import { PendingCalls } from '../pending-calls.ts'
import { fromMessage } from '../thread-messages.ts'

export interface LinkedBlocksOptions {
  readonly onNotice: (notice: BlockNotice) => void
  /** Called when the files thread has ended: calls are rejected from now on. */
  readonly onEnd: () => void
}

/**
 * The blocks of files in another thread than the main thread, for the exchange with other nodes. The port leads to the
 * files thread. When either thread ends, a new link can be made.
 */
export class LinkedBlocks implements ExchangedBlocks {
  readonly #port: MessagePort
  readonly #calls = new PendingCalls()
  #ended: Error | undefined

  constructor(port: MessagePort, { onNotice, onEnd }: LinkedBlocksOptions) {
    this.#port = port
    port.on('message', (message: Reply | { readonly notice: BlockNotice }) => {
      if (this.#ended !== undefined) return
      if ('notice' in message) onNotice(message.notice)
      else this.#calls.settle(message.id, message.result, message.error && fromMessage(message.error))
    })
    port.on('close', () => {
      if (this.#end()) onEnd()
    })
  }

  wanted(from: 'start' | 'next'): Promise<WantedList> {
    return this.#call('wanted', from) as Promise<WantedList>
  }

  read(cid: Uint8Array): Promise<Uint8Array | undefined> {
    return this.#call('read', cid) as Promise<Uint8Array | undefined>
  }

  receive(cid: Uint8Array, bytes: Uint8Array): Promise<FetchedBlock> {
    return this.#call('receive', cid, bytes) as Promise<FetchedBlock>
  }

  setPeers(hasPeers: boolean): void {
    // Rejected when the link ends: then there is nothing to tell.
    this.#call('setPeers', hasPeers).catch(() => {})
  }

  /** Closes the link. What waits is rejected. */
  close(): void {
    this.#end()
  }

  #call(name: string, ...args: readonly unknown[]): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    // Copies: a message would contain the whole buffer that a view belongs to.
    const copies = args.map((arg) => (arg instanceof Uint8Array ? Uint8Array.from(arg) : arg))
    const buffers = copies.flatMap((copy) => (copy instanceof Uint8Array ? [copy.buffer as ArrayBuffer] : []))
    return this.#calls.add((id) => this.#port.postMessage({ id, name, args: copies }, buffers))
  }

  /** Returns whether it was open. */
  #end(): boolean {
    if (this.#ended !== undefined) return false
    this.#ended = new Error('the link to the files is closed')
    this.#port.close()
    this.#calls.failAll(this.#ended)
    return true
  }
}
