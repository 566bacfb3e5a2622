import type { Labels } from '../../protocol/index.ts'
import type { EventBlock } from '../port/index.ts'
import type { MemoryEvent } from './memory-stream.ts'

const lineEnd = Buffer.from('}\n')

/** A block of one event. */
export class MemoryBlock implements EventBlock {
  readonly first: number
  readonly count = 1
  /** 0: the event is kept in memory by the store anyway. */
  readonly heldBytes = 0
  readonly lamports: Float64Array
  readonly times: Float64Array
  readonly #event: MemoryEvent
  readonly #streamId: string
  #line: Buffer | undefined

  constructor(streamId: string, event: MemoryEvent) {
    this.first = event.offset
    this.lamports = Float64Array.of(event.lamport)
    this.times = Float64Array.of(event.time)
    this.#event = event
    this.#streamId = streamId
  }

  labels(): Labels {
    return this.#event.labels
  }

  payload(): string {
    return this.#event.payload.toString('utf8')
  }

  lineBytes(from: number, to: number): number {
    return to > from ? this.#lineOf().length : 0
  }

  copyLines(from: number, to: number, target: Buffer, at: number): void {
    if (to > from) this.#lineOf().copy(target, at)
  }

  lineStartBytes(): number {
    return this.#lineOf().length - this.#event.payload.length - lineEnd.length
  }

  copyLineStart(_index: number, target: Buffer, at: number): void {
    this.#lineOf().copy(target, at, 0, this.lineStartBytes())
  }

  #lineOf(): Buffer {
    this.#line ??= lineOf(this.#streamId, this.#event)
    return this.#line
  }
}

function lineOf(streamId: string, { offset, lamport, time, labels, payload }: MemoryEvent): Buffer {
  const place = `{"type":"event","lamport":${lamport},"stream":"${streamId}","offset":${offset}`
  const tags = `"tags":${JSON.stringify(labels.tags)},"appId":${JSON.stringify(labels.appId)}`
  return Buffer.concat([Buffer.from(`${place},"timestamp":${time},${tags},"payload":`), payload, lineEnd])
}
