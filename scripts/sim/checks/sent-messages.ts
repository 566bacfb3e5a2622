import assert from 'node:assert/strict'
import { decodeChunk, type Frame, signedHeadOf } from '../../../src/protocol/index.ts'
import type { Message } from '../../../src/sync/index.ts'
import { type Ledger, streamIdOf } from '../ledger.ts'
import type { SignatureScheme } from '../signatures.ts'

const signatureBytes = 64

/** Checks everything that honest nodes send: nothing unsigned, altered or stripped is relayed. */
export class SentMessages {
  readonly #ledger: Ledger
  readonly #scheme: SignatureScheme
  /** A chunk is sent to many peers, and checked once. */
  readonly #checked = new WeakSet<Uint8Array>()

  readonly #soon: (check: () => void) => void
  #unchecked: Uint8Array[] = []

  /** @param soon calls back when what is under way is done: events are sent before their publisher has the answer */
  constructor(ledger: Ledger, scheme: SignatureScheme, soon: (check: () => void) => void) {
    this.#ledger = ledger
    this.#scheme = scheme
    this.#soon = soon
  }

  add(message: Message): void {
    if ((message.is !== 'push' && message.is !== 'chunk') || this.#checked.has(message.chunk)) return
    this.#checked.add(message.chunk)
    if (this.#unchecked.push(message.chunk) > 1) return
    this.#soon(() => {
      for (const chunk of this.#unchecked.splice(0)) this.#check(chunk)
    })
  }

  #check(chunk: Uint8Array): void {
    const signedHead = signedHeadOf(chunk)
    const { head, frames } = decodeChunk(chunk)
    const end = signedHead.length - signatureBytes
    assert.ok(
      this.#scheme.isSigned(head.stream.node, signedHead.subarray(0, end), signedHead.subarray(end)),
      'an honest node relays an unsigned chunk',
    )
    const stream = streamIdOf(head.stream.node, head.stream.number)
    if (this.#ledger.isHonest(stream)) for (const frame of frames) this.#checkFrame(stream, frame)
  }

  #checkFrame(stream: string, { bytes, first, count, payloads }: Frame): void {
    const published = this.#ledger.payloads(stream)
    for (let i = 0; i < count; i++) {
      const start = payloads[2 * i] as number
      if (start < 0 && this.#ledger.isRedacted(stream, first + i)) continue
      if (start < 0) assert.fail(`an honest node relays ${stream}/${first + i} without its payload`)
      const payload = bytes.toString('utf8', start, payloads[2 * i + 1])
      if (payload !== published[first + i]) assert.fail(`an honest node relays another event ${stream}/${first + i}`)
    }
  }
}
