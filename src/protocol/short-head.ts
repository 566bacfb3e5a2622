import { ByteWriter, MalformedBytes } from './bytes.ts'

/** The bytes of a signed head that are the same in all messages of a session. */
function prefixOf(topic: string): Buffer {
  return new ByteWriter(256).latin1('shoal/head/1\0').text(topic).written
}

/** A signed head without domain word and topic, which a session implies. */
export function shortHead(signed: Uint8Array, topic: string): Uint8Array {
  const prefix = prefixOf(topic)
  if (Buffer.compare(signed.subarray(0, prefix.length), prefix) !== 0)
    throw new MalformedBytes('a head of another topic')
  return signed.subarray(prefix.length)
}

/** The signed head of a short one. */
export function fullHead(short: Uint8Array, topic: string): Buffer {
  return Buffer.concat([prefixOf(topic), short])
}
