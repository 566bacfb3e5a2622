import { format } from '../base/format.ts'
import { limits } from '../base/limits.ts'
import { ByteReader, ByteWriter, MalformedBytes, readStream, type StreamKey, writeStream } from '../protocol/index.ts'

/** The first message of both sides. Topic and node are those of the connection. */
export interface Hello {
  readonly is: 'hello'
  readonly version: number
  /** What this node can do beyond the version. */
  readonly features: readonly string[]
  /** What the other node has to be able to do: one that does not know a feature closes the session and names it. */
  readonly required: readonly string[]
  /** The wall clock of the sender, in microseconds since the Unix epoch. */
  readonly time: number
}

/**
 * Changes of the nodes that the sender is connected to: events of a node, or events that it sends on, need not be
 * forwarded to those that are connected to it.
 */
export interface Neighbours {
  readonly is: 'neighbours'
  readonly added: readonly Uint8Array[]
  readonly removed: readonly Uint8Array[]
}

/** The digest of the head table, sent at intervals. One that differs is answered with `buckets`. */
export interface DigestMessage {
  readonly is: 'digest'
  readonly digest: Uint8Array
}

/** The digests of all buckets of the head table, one after the other. Answered with the heads where they differ. */
export interface BucketsMessage {
  readonly is: 'buckets'
  readonly digests: Uint8Array
}

/** What a node has of a stream. */
export interface HeadEntry {
  /** Number of pruned events. */
  readonly pruned: number
  /** The newest signed head, without domain word and topic: those are known from the session. */
  readonly head: Uint8Array
}

/** Heads of the sender. The other side answers with all of its own in the given buckets. */
export interface HeadsMessage {
  readonly is: 'heads'
  readonly entries: readonly HeadEntry[]
  readonly answer: readonly number[]
}

/** Asks for the events of a stream from an offset on. Answered with one chunk, or with `nothing`. */
export interface Want {
  readonly is: 'want'
  readonly id: number
  readonly stream: StreamKey
  readonly from: number
}

export interface ChunkMessage {
  readonly is: 'chunk'
  readonly id: number
  readonly chunk: Uint8Array
}

/** There is nothing to send for a request: the sender does not have these events, or not any more. */
export interface NothingMessage {
  readonly is: 'nothing'
  readonly id: number
}

/** New events, sent without being asked for. */
export interface Push {
  readonly is: 'push'
  readonly chunk: Uint8Array
}

/** Why a session is closed. The codes are part of the protocol. */
export const closeCodes = {
  malformedMessage: 1,
  unknownRequiredFeature: 2,
  badHead: 3,
  badChunk: 4,
  tooManyRequests: 5,
  silent: 6,
} as const

export type CloseReason = keyof typeof closeCodes

export type Message =
  | Hello
  | Neighbours
  | DigestMessage
  | BucketsMessage
  | HeadsMessage
  | Want
  | ChunkMessage
  | NothingMessage
  | Push

const kinds = {
  hello: 1,
  neighbours: 2,
  digest: 3,
  buckets: 4,
  heads: 5,
  want: 6,
  chunk: 7,
  nothing: 8,
  push: 9,
} as const satisfies Record<Message['is'], number>

/** From this number on a kind that is not known is skipped, below it the session is closed. */
const optionalKinds = 128
const nodeBytes = 32

/** Encodes a message. The transport adds its length. */
export function encodeMessage(message: Message): Buffer {
  const writer = new ByteWriter(256).byte(kinds[message.is])
  if (message.is === 'hello') {
    writer.uvarint(message.version)
    writeTexts(writer, message.features)
    writeTexts(writer, message.required)
    writer.uvarint(message.time)
  } else if (message.is === 'neighbours') {
    writeNodes(writer, message.added)
    writeNodes(writer, message.removed)
  } else if (message.is === 'digest') writer.bytes(message.digest)
  else if (message.is === 'buckets') writer.bytes(message.digests)
  else if (message.is === 'heads') writeHeads(writer, message)
  else if (message.is === 'want') {
    writer.uvarint(message.id)
    writeStream(writer, message.stream)
    writer.uvarint(message.from)
  } else if (message.is === 'chunk') writer.uvarint(message.id).uvarint(message.chunk.length).bytes(message.chunk)
  else if (message.is === 'nothing') writer.uvarint(message.id)
  else writer.uvarint(message.chunk.length).bytes(message.chunk)
  return writer.written
}

/**
 * Decodes a message. Bytes after its last field are skipped: a later version may add fields. Undefined for an optional
 * message of an unknown kind.
 */
export function decodeMessage(bytes: Uint8Array): Message | undefined {
  if (bytes.length > limits.syncMessageBytes) throw new MalformedBytes('a message is too large')
  const reader = new ByteReader(bytes)
  const kind = reader.byte()
  switch (kind) {
    case kinds.hello:
      return {
        is: 'hello',
        version: reader.uvarint(),
        features: readTexts(reader),
        required: readTexts(reader),
        time: reader.uvarint(),
      }
    case kinds.neighbours:
      return { is: 'neighbours', added: readNodes(reader), removed: readNodes(reader) }
    case kinds.digest:
      return { is: 'digest', digest: reader.bytes(format.digestBytes) }
    case kinds.buckets:
      return { is: 'buckets', digests: reader.bytes(format.digestBuckets * format.digestBytes) }
    case kinds.heads:
      return readHeads(reader)
    case kinds.want:
      return { is: 'want', id: reader.uvarint(), stream: readStream(reader), from: reader.uvarint() }
    case kinds.chunk:
      return { is: 'chunk', id: reader.uvarint(), chunk: readChunkBytes(reader) }
    case kinds.nothing:
      return { is: 'nothing', id: reader.uvarint() }
    case kinds.push:
      return { is: 'push', chunk: readChunkBytes(reader) }
    default:
      if (kind >= optionalKinds) return undefined
      throw new MalformedBytes(`a message of the unknown kind ${kind}`)
  }
}

function writeHeads(writer: ByteWriter, { entries, answer }: HeadsMessage): void {
  writer.uvarint(entries.length)
  for (const { pruned, head } of entries) writer.uvarint(pruned).uvarint(head.length).bytes(head)
  writer.uvarint(answer.length)
  for (const bucket of answer) writer.byte(bucket)
}

function readHeads(reader: ByteReader): HeadsMessage {
  const entries = readMany(reader, limits.headsPerMessage, 2 + nodeBytes, () => {
    const pruned = reader.uvarint()
    const length = reader.uvarint()
    if (length > limits.headBytes) throw new MalformedBytes('a head is too large')
    return { pruned, head: reader.bytes(length) }
  })
  return { is: 'heads', entries, answer: readMany(reader, format.digestBuckets, 1, () => reader.byte()) }
}

function readChunkBytes(reader: ByteReader): Buffer {
  const length = reader.uvarint()
  if (length > format.chunkBytes) throw new MalformedBytes('a chunk is too large')
  return reader.bytes(length)
}

function writeNodes(writer: ByteWriter, nodes: readonly Uint8Array[]): void {
  writer.uvarint(nodes.length)
  for (const node of nodes) writer.bytes(node)
}

function readNodes(reader: ByteReader): Buffer[] {
  return readMany(reader, limits.swarmNodes, nodeBytes, () => reader.bytes(nodeBytes))
}

function writeTexts(writer: ByteWriter, texts: readonly string[]): void {
  writer.uvarint(texts.length)
  for (const text of texts) writer.text(text)
}

function readTexts(reader: ByteReader): string[] {
  return readMany(reader, limits.syncFeatures, 1, () => reader.text(limits.syncFeatureBytes))
}

/** Reads a list. Its length is checked against a limit and the bytes that are left, before anything is allocated. */
function readMany<T>(reader: ByteReader, most: number, leastBytes: number, read: () => T): T[] {
  const count = reader.uvarint()
  if (count > most || count * leastBytes > reader.remaining) throw new MalformedBytes('a list is too long')
  return Array.from({ length: count }, read)
}
