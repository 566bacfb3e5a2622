import { limits } from '../../base/limits.ts'
import { ByteReader, ByteWriter, MalformedBytes } from '../../protocol/index.ts'

/** The first frame of both sides on the live stream. */
export interface Opening {
  readonly topic: string
}

export function encodeOpening({ topic }: Opening): Buffer {
  const text = Buffer.from(topic)
  return new ByteWriter(text.length + 4).uvarint(text.length).bytes(text).copy()
}

/** Bytes after the topic are skipped: a later version may add fields. */
export function decodeOpening(bytes: Uint8Array): Opening {
  const reader = new ByteReader(bytes)
  const length = reader.uvarint()
  if (length === 0 || length > limits.openingBytes) throw new MalformedBytes('a topic has another length')
  const text = reader.bytes(length)
  try {
    return { topic: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text) }
  } catch {
    throw new MalformedBytes('a topic is not UTF-8')
  }
}
