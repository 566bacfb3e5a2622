import type { EventKey, StreamId } from '../ast.ts'
import { naturalOf, readDigits, tooLarge } from './number-literals.ts'
import type { Reader } from './text-reader.ts'

/** A key, or what is wrong with one that is written correctly. */
export type Key = { readonly key: EventKey } | { readonly fault: string }

/** Sorts before all streams that exist. */
export const noStream: StreamId = { node: '.'.repeat(43), number: 0n }

/** Reads `lamport/stream` or only the lamport timestamp. */
export function readKey(reader: Reader): Key | undefined {
  const digits = readDigits(reader)
  if (digits === undefined) return undefined
  reader.skip()
  const stream = readStream(reader) ?? { stream: noStream }
  const lamport = naturalOf(digits)
  if (lamport === undefined) return { fault: tooLarge }
  return 'fault' in stream ? stream : { key: { lamport, stream: stream.stream } }
}

function readStream(reader: Reader): { readonly stream: StreamId } | { readonly fault: string } | undefined {
  const start = reader.at
  if (!reader.token('/')) return undefined
  const node = reader.match('stream_id', /[./0-9A-Za-z]{43}(?=-\d)/y)
  if (node === undefined) {
    reader.at = start
    return undefined
  }
  reader.glued('-')
  const number = naturalOf(readDigits(reader) ?? '')
  reader.skip()
  const last = node.charCodeAt(42)
  // 43 characters have two bits more than 32 bytes have.
  if (alphabet.indexOf(node.charAt(42)) % 4 !== 0) {
    return { fault: `parsing StreamId: Invalid last symbol ${last}, offset 42.` }
  }
  return number === undefined ? { fault: tooLarge } : { stream: { node, number } }
}

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
