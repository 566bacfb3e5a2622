import { uvarint } from './naive.ts'

/** The rule for payloads as simple as in docs/protocol.md, without any code of the product. */
export function isNaivePayload(bytes: Uint8Array): boolean {
  if (bytes.length > 8 * 1024 * 1024) return false
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    JSON.parse(text)
  } catch {
    return false
  }
  const withoutStrings = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  const numbers = withoutStrings.match(/-?\d[\d.eE+-]*/g) ?? []
  let depth = 0
  let maxDepth = 0
  for (const character of withoutStrings) {
    if ('[{'.includes(character)) maxDepth = Math.max(maxDepth, ++depth)
    else if (']}'.includes(character)) depth--
  }
  return !/\s/.test(withoutStrings) && maxDepth <= 512 && numbers.every((number) => Number.isFinite(Number(number)))
}

/** The parts of an event in a record. */
export interface RawEvent {
  readonly labels: Uint8Array
  readonly payload: Uint8Array
  readonly lamport?: number
}

/** The record of a frame with a seed of zeros, whose labels and payloads may be malformed. */
export function rawRecord(events: readonly RawEvent[], first = 0): Buffer {
  const heads = events.map(({ labels, lamport }, i) =>
    Buffer.concat([uvarint(lamport ?? first + i), uvarint(1), labels]),
  )
  const head = Buffer.concat([uvarint(first), uvarint(events.length), ...heads])
  return Buffer.concat([
    uvarint(head.length),
    head,
    Buffer.alloc(17),
    ...events.map(({ payload }) => uvarint(payload.length)),
    ...events.map(({ payload }) => payload),
  ])
}
