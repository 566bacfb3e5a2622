import { createHash } from 'node:crypto'

/**
 * A reference implementation of docs/protocol.md, as simple as its description there and without any code of the
 * product: both have to produce the same bytes from the same input.
 */
export interface NaiveEvent {
  lamport: number
  time: number
  appId: string
  tags: string[]
  payload: string
}

export function uvarint(value: number): Buffer {
  const bytes: number[] = []
  let rest = BigInt(value)
  while (rest >= 128n) {
    bytes.push(Number(rest % 128n) + 128)
    rest /= 128n
  }
  return Buffer.from([...bytes, Number(rest)])
}

export function text(value: string): Buffer {
  return Buffer.concat([uvarint(Buffer.byteLength(value)), Buffer.from(value)])
}

const sha256 = (...parts: Uint8Array[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest()
const word = (name: string): Buffer => Buffer.from(`${name}\0`)
const stream = (node: Uint8Array, number: number): Buffer => Buffer.concat([node, uvarint(number)])

export function naiveGenesis(topic: string, node: Uint8Array, number: number, name = 'shoal/genesis/1'): Buffer {
  return sha256(word(name), text(topic), stream(node, number))
}

function naiveSalts(seed: Uint8Array, count: number): Buffer[] {
  const all = createHash('shake128', { outputLength: 16 * count })
    .update(Buffer.concat([word('shoal/salts/1'), seed]))
    .digest()
  return Array.from({ length: count }, (_, i) => all.subarray(16 * i, 16 * i + 16))
}

function frameHead(first: number, events: readonly NaiveEvent[]): Buffer {
  const sorted = (tags: string[]) => [...new Set(tags)].map((tag) => Buffer.from(tag)).sort(Buffer.compare)
  const event = ({ lamport, time, appId, tags }: NaiveEvent) => {
    const list = sorted(tags)
    return Buffer.concat([
      uvarint(lamport),
      uvarint(time),
      text(appId),
      uvarint(list.length),
      ...list.flatMap((tag) => [uvarint(tag.length), tag]),
    ])
  }
  return Buffer.concat([uvarint(first), uvarint(events.length), ...events.map(event)])
}

/** The record of a frame without the redacted payloads, and the chain hash after it. */
export function naiveFrame(
  previous: Uint8Array,
  first: number,
  events: readonly NaiveEvent[],
  seed: Uint8Array,
  removed: readonly number[] = [],
): { record: Buffer; hash: Buffer } {
  const head = frameHead(first, events)
  const salts = naiveSalts(seed, events.length)
  const hashes = events.map(({ payload }, i) => sha256(salts[i] ?? Buffer.alloc(0), Buffer.from(payload)))
  const hash = sha256(previous, word('shoal/frame/1'), head, ...hashes)
  const list = events.map((_, i) =>
    removed.includes(i)
      ? Buffer.concat([Buffer.of(0), hashes[i] ?? Buffer.alloc(0)])
      : Buffer.concat([Buffer.of(1), salts[i] ?? Buffer.alloc(0)]),
  )
  const secrets = removed.length === 0 ? [Buffer.of(0), seed] : [Buffer.of(1), ...list]
  const texts = events.map(({ payload }, i) => Buffer.from(removed.includes(i) ? '' : payload))
  const record = Buffer.concat([
    uvarint(head.length),
    head,
    ...secrets,
    ...texts.map((bytes) => uvarint(bytes.length)),
    ...texts,
  ])
  return { record, hash }
}

export function naiveHead(
  topic: string,
  node: Uint8Array,
  number: number,
  head: { count: number; lamport: number; hash: Uint8Array; checkpoint: boolean; time: number },
): Buffer {
  const { count, lamport, hash, checkpoint, time } = head
  return Buffer.concat([
    word('shoal/head/1'),
    text(topic),
    stream(node, number),
    uvarint(count),
    uvarint(lamport),
    hash,
    Buffer.of(checkpoint ? 1 : 0),
    uvarint(time),
  ])
}

export function naivePrune(
  topic: string,
  node: Uint8Array,
  number: number,
  { count, hash, lamport, time }: { count: number; hash: Uint8Array; lamport: number; time: number },
): Buffer {
  return Buffer.concat([
    word('shoal/prune/2'),
    text(topic),
    stream(node, number),
    uvarint(count),
    hash,
    uvarint(lamport),
    uvarint(time),
  ])
}

/** The ranges of offsets, which are ascending and without duplicates. */
function ranges(offsets: readonly number[]): Buffer {
  const starts = offsets.filter((offset) => !offsets.includes(offset - 1))
  const ends = offsets.filter((offset) => !offsets.includes(offset + 1)).map((offset) => offset + 1)
  const range = (start: number, i: number) => [uvarint(start - (ends[i - 1] ?? 0)), uvarint((ends[i] ?? 0) - start)]
  return Buffer.concat([uvarint(starts.length), ...starts.flatMap(range)])
}

/** The offsets are ascending and without duplicates. */
export function naiveRedaction(
  topic: string,
  node: Uint8Array,
  number: number,
  offsets: readonly number[],
  time: number,
): Buffer {
  return Buffer.concat([word('shoal/redaction/2'), text(topic), stream(node, number), ranges(offsets), uvarint(time)])
}

/** The offsets are those of all redacted events that are stored. */
export function naiveRecordsHash(
  topic: string,
  node: Uint8Array,
  number: number,
  pruned: number,
  offsets: readonly number[],
): Buffer {
  const sorted = [...offsets].sort((a, b) => a - b)
  return sha256(word('shoal/records/1'), text(topic), stream(node, number), uvarint(pruned), ranges(sorted))
}

/** Records of version 1: a prune record with its count, a redaction record with its offset. */
export function naiveRecord(
  name: string,
  topic: string,
  node: Uint8Array,
  number: number,
  value: number,
  time: number,
): Buffer {
  return Buffer.concat([word(name), text(topic), stream(node, number), uvarint(value), uvarint(time)])
}

/** Evidence of a fork; the records have no payloads, and without a common checkpoint `common` is empty. */
export function naiveEvidence(
  longer: { signedHead: Uint8Array; records: readonly Uint8Array[] },
  shorter: { signedHead: Uint8Array; records: readonly Uint8Array[] },
  common: Uint8Array,
): Buffer {
  const sized = (bytes: Uint8Array): Uint8Array[] => [uvarint(bytes.length), bytes]
  const counted = (records: readonly Uint8Array[]): Uint8Array[] => [uvarint(records.length), ...records]
  return Buffer.concat([
    word('shoal/fork/1'),
    ...sized(longer.signedHead),
    ...sized(shorter.signedHead),
    ...sized(common),
    ...counted(longer.records),
    ...counted(shorter.records),
  ])
}
