import { decodeMessage, encodeMessage } from '../../src/swarm/index.ts'
import type { Message } from '../../src/sync/index.ts'

/** Encodes and decodes messages. One to many peers is encoded once, and decoded once: it must not be changed. */
export class SharedMessages {
  readonly #encoded = new WeakMap<Message, Uint8Array>()
  readonly #decoded = new WeakMap<Uint8Array, Message | 'unknown' | 'malformed'>()

  encode(message: Message): Uint8Array {
    const known = this.#encoded.get(message)
    if (known !== undefined) return known
    const bytes = encodeMessage(message)
    this.#encoded.set(message, bytes)
    return bytes
  }

  decode(bytes: Uint8Array): Message | 'unknown' | 'malformed' {
    const known = this.#decoded.get(bytes)
    if (known !== undefined) return known
    const message = decoded(bytes)
    this.#decoded.set(bytes, message)
    return message
  }
}

function decoded(bytes: Uint8Array): Message | 'unknown' | 'malformed' {
  try {
    return decodeMessage(bytes) ?? 'unknown'
  } catch {
    return 'malformed'
  }
}
