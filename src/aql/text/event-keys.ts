import type { EventKeyLiteral, StreamId } from '../ast.ts'
import { naturalOf, readDigits, tooLarge } from './number-literals.ts'
import type { Reader } from './text-reader.ts'

/** A key, or the static error of one that parses but is invalid. */
export type Key = { readonly key: EventKeyLiteral } | { readonly fault: string }

/** Sorts before every real stream. */
export const noStream: StreamId = { node: '.'.repeat(43), number: 0n }

/** Parses `lamport/stream` or a lamport timestamp alone. */
export function readKey(reader: Reader): Key | undefined {
  const digits = readDigits(reader)
  if (digits === undefined) return undefined
  reader.skipTrivia()
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
  reader.literal('-')
  const number = naturalOf(readDigits(reader) ?? '')
  reader.skipTrivia()
  const last = node.charCodeAt(42)
  // 43 characters encode 258 bits, two more than 32 bytes: those must be zero.
  if (alphabet.indexOf(node.charAt(42)) % 4 !== 0) {
    return { fault: `parsing StreamId: Invalid last symbol ${last}, offset 42.` }
  }
  return number === undefined ? { fault: tooLarge } : { stream: { node, number } }
}

const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
