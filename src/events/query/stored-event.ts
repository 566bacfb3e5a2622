import type { AqlEvent, EventStream } from '../../aql/index.ts'
import type { EventBlock, ReadStream } from '../../store/reading/index.ts'

/** A stream with its identity in the store and in queries. */
export interface NamedStream {
  readonly read: ReadStream
  readonly id: EventStream
}

/** An event of a block, as a query sees it. Tags and payload are decoded lazily. */
export class StoredEvent implements AqlEvent {
  readonly block: EventBlock
  readonly index: number
  readonly #stream: NamedStream

  constructor(stream: NamedStream, block: EventBlock, index: number) {
    this.#stream = stream
    this.block = block
    this.index = index
  }

  get read(): ReadStream {
    return this.#stream.read
  }

  get stream(): EventStream {
    return this.#stream.id
  }

  get own(): boolean {
    return this.#stream.read.own
  }

  get lamport(): number {
    return this.block.lamports[this.index] as number
  }

  get time(): number {
    return this.block.times[this.index] as number
  }

  get offset(): number {
    return this.block.first + this.index
  }

  get tags(): readonly string[] {
    return this.#labels.tags
  }

  get appId(): string {
    return this.#labels.appId
  }

  get heldBytes(): number {
    return this.block.heldBytes
  }

  get payload(): string {
    return this.block.payload(this.index)
  }

  get #labels(): ReturnType<EventBlock['labels']> {
    return this.block.labels(this.index)
  }
}
