import { format } from '../../base/format.ts'
import { limits } from '../../base/limits.ts'
import {
  ByteReader,
  ByteWriter,
  type Hash,
  hashLength,
  MalformedBytes,
  readStream,
  writeStream,
} from '../../protocol/index.ts'
import { type HeadEntry, type Message, type NothingReason, nothingCodes, type Ping } from '../../sync/index.ts'
import { readList, readPacked, readSized, writeList, writePacked, writeSized } from './message-fields.ts'

interface Codec<M extends Message> {
  readonly kind: number
  write(writer: ByteWriter, message: M): void
  read(reader: ByteReader): Omit<M, 'is'>
}

type Codecs = { readonly [Kind in Message['is']]: Codec<Extract<Message, { is: Kind }>> }

/** From this number on a kind that is not known is skipped, below it the session is closed. */
const optionalKinds = 128
const nodeBytes = 32
/** Most messages are smaller. */
const scratchBytes = 32_768

const ping = (kind: number): Codec<Ping> => ({
  kind,
  write: (writer, { id }) => writer.uvarint(id),
  read: (reader) => ({ id: reader.uvarint() }),
})

const codecs: Codecs = {
  hello: {
    kind: 1,
    write(writer, { version, features, required, time }) {
      writer.uvarint(version)
      writeList(writer, features, (text) => writer.text(text))
      writeList(writer, required, (text) => writer.text(text))
      writer.uvarint(time)
    },
    read: (reader) => ({
      version: reader.uvarint(),
      features: readFeatures(reader),
      required: readFeatures(reader),
      time: reader.uvarint(),
    }),
  },
  neighbours: {
    kind: 2,
    write(writer, { added, removed }) {
      for (const nodes of [added, removed]) writeList(writer, nodes, (node) => writer.bytes(node))
    },
    read: (reader) => ({ added: readNodes(reader), removed: readNodes(reader) }),
  },
  digest: {
    kind: 3,
    write: (writer, { digest, time }) => writer.bytes(digest).uvarint(time),
    read: (reader) => ({ digest: reader.bytes(format.digestBytes), time: reader.uvarint() }),
  },
  buckets: {
    kind: 4,
    write: (writer, { digests }) => writer.bytes(digests),
    read: (reader) => ({ digests: reader.bytes(format.digestBuckets * format.digestBytes) }),
  },
  heads: {
    kind: 5,
    write(writer, { entries, answer }) {
      writeList(writer, entries, (entry) => writeEntry(writer, entry))
      writeList(writer, answer, (bucket) => writer.byte(bucket))
    },
    read: (reader) => ({
      entries: readList(reader, limits.headsPerMessage, 2 + nodeBytes, () => readEntry(reader)),
      answer: readList(reader, format.digestBuckets, 1, () => reader.byte()),
    }),
  },
  want: {
    kind: 6,
    write(writer, { id, stream, from, bytes }) {
      writeStream(writer.uvarint(id), stream)
      writer.uvarint(from).uvarint(bytes)
    },
    read: (reader) => ({
      id: reader.uvarint(),
      stream: readStream(reader),
      from: reader.uvarint(),
      bytes: reader.uvarint(),
    }),
  },
  chunk: {
    kind: 7,
    write(writer, { id, more, chunk }) {
      writer.uvarint(id).byte(more ? 1 : 0)
      writePacked(writer, chunk)
    },
    read(reader) {
      const [id, more] = [reader.uvarint(), reader.byte() === 1]
      return Object.assign(lazyChunk(readPacked(reader)), { id, more })
    },
  },
  nothing: {
    kind: 8,
    write: (writer, { id, reason }) => writer.uvarint(id).byte(nothingCodes[reason]),
    read: (reader) => ({ id: reader.uvarint(), reason: reasonOf(reader.byte()) }),
  },
  push: {
    kind: 9,
    write: (writer, { chunk }) => writeSized(writer, chunk),
    read: (reader) => ({ chunk: readSized(reader, format.chunkBytes, 'a chunk') }),
  },
  'bulk-push': {
    kind: 22,
    write: (writer, { chunk }) => writePacked(writer, chunk),
    read: (reader) => lazyChunk(readPacked(reader)),
  },
  'want-records': {
    kind: 10,
    write(writer, { id, stream, from, to }) {
      writeStream(writer.uvarint(id), stream)
      writer.uvarint(from).uvarint(to)
    },
    read: (reader) => ({
      id: reader.uvarint(),
      stream: readStream(reader),
      from: reader.uvarint(),
      to: reader.uvarint(),
    }),
  },
  records: {
    kind: 11,
    write(writer, { id, stream, prune, redactions, next }) {
      writeStream(writer.uvarint(id), stream)
      writeList(writer, prune === undefined ? [] : [prune.record, prune.head], (bytes) => writeSized(writer, bytes))
      writeList(writer, redactions, (record) => writeSized(writer, record))
      writer.uvarint(next === undefined ? 0 : next + 1)
    },
    read(reader) {
      const id = reader.uvarint()
      const stream = readStream(reader)
      const [record, head] = readList(reader, 2, 1, () => readSized(reader, limits.recordBytes, 'a record'))
      const redactions = readList(reader, limits.redactionsPerCall, 1, () =>
        readSized(reader, limits.recordBytes, 'a record'),
      )
      const next = reader.uvarint()
      const prune = record === undefined || head === undefined ? undefined : { record, head }
      return { id, stream, prune, redactions, next: next === 0 ? undefined : next - 1 }
    },
  },
  'want-evidence': {
    kind: 12,
    write: (writer, { id, stream }) => writeStream(writer.uvarint(id), stream),
    read: (reader) => ({ id: reader.uvarint(), stream: readStream(reader) }),
  },
  evidence: {
    kind: 13,
    write(writer, { id, record }) {
      writeSized(writer.uvarint(id), record)
    },
    read: (reader) => ({ id: reader.uvarint(), record: readSized(reader, 2 * format.chunkBytes, 'evidence') }),
  },
  locate: {
    kind: 14,
    write(writer, { id, stream, points }) {
      writeStream(writer.uvarint(id), stream)
      writeList(writer, points, ({ count, hash }) => writer.uvarint(count).latin1(hash))
    },
    read: (reader) => ({
      id: reader.uvarint(),
      stream: readStream(reader),
      points: readList(reader, limits.pointsPerLocate, 1 + hashLength, () => ({
        count: reader.uvarint(),
        hash: reader.bytes(hashLength).toString('latin1') as Hash,
      })),
    }),
  },
  located: {
    kind: 15,
    write: (writer, { id, count }) => writer.uvarint(id).uvarint(count),
    read: (reader) => ({ id: reader.uvarint(), count: reader.uvarint() }),
  },
  stored: {
    kind: 16,
    write: (writer, { streams }) =>
      writeList(writer, streams, ({ number, count }) => writer.uvarint(number).uvarint(count)),
    read: (reader) => ({
      streams: readList(reader, format.streamsPerNode, 2, () => ({
        number: reader.uvarint(),
        count: reader.uvarint(),
      })),
    }),
  },
  ping: ping(17) as Codecs['ping'],
  pong: ping(18) as Codecs['pong'],
  addresses: {
    kind: 19,
    write: (writer, { nodes }) =>
      writeList(writer, nodes, ({ node, addresses }) => {
        writer.bytes(node)
        writeList(writer, addresses, (address) => writer.text(address))
      }),
    read: (reader) => ({
      nodes: readList(reader, limits.swarmNodes, nodeBytes + 1, () => ({
        node: reader.bytes(nodeBytes),
        addresses: readList(reader, limits.addressesPerNode, 1, () => reader.text(limits.addressBytes)),
      })),
    }),
  },
  'want-own': { kind: 20, write: () => undefined, read: () => ({}) },
  'own-heads': {
    kind: 21,
    write: (writer, { entries }) => writeList(writer, entries, (entry) => writeEntry(writer, entry)),
    read: (reader) => ({
      entries: readList(reader, format.streamsPerNode, 2 + nodeBytes, () => readEntry(reader)),
    }),
  },
}

const byKind = new Map(Object.entries(codecs).map(([is, codec]) => [codec.kind, { is, codec }]))

/** Reused: to allocate a buffer per message, and to grow it, costs more than to copy the result. */
let scratch = new ByteWriter(scratchBytes)

/** The bytes of compressed messages that are sent to many peers. */
const packed = new WeakMap<Message, Buffer>()

/** Encodes a message. The transport adds its length. */
export function encodeMessage(message: Message): Buffer {
  if (message.is !== 'bulk-push') return encode(message)
  const bytes = packed.get(message) ?? encode(message)
  packed.set(message, bytes)
  return bytes
}

function encode(message: Message): Buffer {
  const codec = codecs[message.is] as Codec<Message>
  const writer = scratch.clear().byte(codec.kind)
  codec.write(writer, message)
  if (writer.capacity === scratchBytes) return writer.copy()
  // A large message keeps the buffer that has grown with it.
  scratch = new ByteWriter(scratchBytes)
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
  const known = byKind.get(kind)
  // Not copied: that would decompress a chunk.
  if (known !== undefined) return Object.assign(known.codec.read(reader), { is: known.is }) as Message
  if (kind >= optionalKinds) return undefined
  throw new MalformedBytes(`a message of the unknown kind ${kind}`)
}

/** Decompressed when it is used first: a chunk that was not asked for costs nothing. */
function lazyChunk(unpack: () => Buffer): { readonly chunk: Buffer } {
  let chunk: Buffer | undefined
  return {
    get chunk() {
      chunk ??= unpack()
      return chunk
    },
  }
}

function writeEntry(writer: ByteWriter, entry: HeadEntry): void {
  writer.byte(entry.isFrozen ? 1 : 0)
  if (entry.isFrozen) writeStream(writer, entry.stream)
  else writeSized(writer.uvarint(entry.pruned).bytes(entry.records), entry.head)
}

function readEntry(reader: ByteReader): HeadEntry {
  const isFrozen = reader.byte()
  if (isFrozen === 1) return { isFrozen: true, stream: readStream(reader) }
  if (isFrozen !== 0) throw new MalformedBytes('an entry of an unknown kind')
  const pruned = reader.uvarint()
  const records = reader.bytes(format.digestBytes)
  return { isFrozen: false, pruned, records, head: readSized(reader, limits.headBytes, 'a head') }
}

function reasonOf(code: number): NothingReason {
  const [reason] = Object.entries(nothingCodes).find(([, known]) => known === code) ?? ['notHere']
  return reason as NothingReason
}

function readNodes(reader: ByteReader): Buffer[] {
  return readList(reader, limits.swarmNodes, nodeBytes, () => reader.bytes(nodeBytes))
}

function readFeatures(reader: ByteReader): string[] {
  return readList(reader, limits.syncFeatures, 1, () => reader.text(limits.syncFeatureBytes))
}
