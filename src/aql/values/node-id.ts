import { Bytes } from './value.ts'

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Decodes a node ID: 43 characters of six bits each are 32 bytes. */
export function nodeIdBytes(text: string): Bytes {
  const bytes = new Uint8Array(Math.floor((text.length * 6) / 8))
  let [bits, count, length] = [0, 0, 0]
  for (const character of text) {
    bits = ((bits << 6) | alphabet.indexOf(character)) & 0xffff
    count += 6
    if (count < 8) continue
    count -= 8
    bytes[length++] = bits >> count
  }
  return new Bytes(bytes)
}
