import { limits } from '../../base/limits.ts'
import { ByteReader, ByteWriter } from '../../protocol/index.ts'

/** Optional: nodes that do not know it skip it. */
const kind = 128

/** The message with which a node tells that its display name has changed since it was started. */
export function encodeDisplayName(name: string): Buffer {
  return new ByteWriter(64).byte(kind).text(name.slice(0, limits.agentLength)).written
}

/** Undefined for another message. Throws for a malformed one. */
export function decodeDisplayName(bytes: Uint8Array): string | undefined {
  if (bytes[0] !== kind) return undefined
  const reader = new ByteReader(bytes)
  reader.byte()
  // A character has at most three bytes, per unit of UTF-16.
  return reader.text(3 * limits.agentLength).slice(0, limits.agentLength)
}
