import { format } from '../../base/format.ts'
import { limits } from '../../base/limits.ts'
import { ByteReader, ByteWriter, MalformedBytes } from '../../protocol/index.ts'

/** A message about blocks, by their CIDs. */
interface CidList<Kind extends string> {
  readonly is: Kind
  readonly cids: readonly Uint8Array[]
}

/** Asks for blocks. Each is answered with `block` or as part of a `blocksNotHere`, in any order. */
export type WantBlocks = CidList<'wantBlocks'>
/** The sender has these blocks now; it was asked for them before. */
export type HaveBlocks = CidList<'haveBlocks'>
/** The sender does not have these blocks. If one arrives later, it says so with `haveBlocks`. */
export type BlocksNotHere = CidList<'blocksNotHere'>
/** The sender needs these blocks no more. */
export type CancelBlocks = CidList<'cancelBlocks'>

/** A block that was asked for. */
export interface BlockMessage {
  readonly is: 'block'
  readonly cid: Uint8Array
  readonly bytes: Uint8Array
}

export type ExchangeMessage = WantBlocks | HaveBlocks | BlocksNotHere | BlockMessage | CancelBlocks

/** Why the exchange of blocks closes a connection, besides malformed messages. The codes are part of the protocol. */
export const blockCloseCodes = { badBlock: 32, tooManyBlockRequests: 33, unaskedBlocks: 34 } as const

export type BlockCloseReason = keyof typeof blockCloseCodes

/** The kinds 32 to 39 belong to the exchange of blocks. */
const kinds = {
  wantBlocks: 32,
  haveBlocks: 33,
  blocksNotHere: 34,
  block: 35,
  cancelBlocks: 36,
} as const satisfies Record<ExchangeMessage['is'], number>
const lastKind = 39

/** Whether a message belongs to the exchange of blocks. */
export function isExchangeMessage(bytes: Uint8Array): boolean {
  const kind = bytes[0] ?? 0
  return kind >= kinds.wantBlocks && kind <= lastKind
}

/** Encodes a message. The transport adds its length. */
export function encodeExchangeMessage(message: ExchangeMessage): Buffer {
  const kind = kinds[message.is]
  if (message.is === 'block') {
    const { cid, bytes } = message
    const writer = new ByteWriter(cid.length + bytes.length + 8).byte(kind)
    return writer.uvarint(cid.length).bytes(cid).uvarint(bytes.length).bytes(bytes).written
  }
  const writer = new ByteWriter(256).byte(kind).uvarint(message.cids.length)
  for (const cid of message.cids) writer.uvarint(cid.length).bytes(cid)
  return writer.written
}

/** Decodes a message. Bytes after its last field are skipped: a later version may add fields. */
export function decodeExchangeMessage(bytes: Uint8Array): ExchangeMessage {
  if (bytes.length > limits.exchangeMessageBytes) throw new MalformedBytes('a message is too large')
  const reader = new ByteReader(bytes)
  const kind = reader.byte()
  switch (kind) {
    case kinds.wantBlocks:
      return { is: 'wantBlocks', cids: readCids(reader) }
    case kinds.haveBlocks:
      return { is: 'haveBlocks', cids: readCids(reader) }
    case kinds.blocksNotHere:
      return { is: 'blocksNotHere', cids: readCids(reader) }
    case kinds.block:
      return { is: 'block', cid: readCid(reader), bytes: readBlockBytes(reader) }
    case kinds.cancelBlocks:
      return { is: 'cancelBlocks', cids: readCids(reader) }
    default:
      throw new MalformedBytes(`a message of the unknown kind ${kind}`)
  }
}

/** The length of the list is checked against a limit and the bytes that are left, before anything is allocated. */
function readCids(reader: ByteReader): Buffer[] {
  const count = reader.uvarint()
  // A CID and its length take at least two bytes.
  if (count > limits.cidsPerMessage || count * 2 > reader.remaining) throw new MalformedBytes('a list is too long')
  return Array.from({ length: count }, () => readCid(reader))
}

function readCid(reader: ByteReader): Buffer {
  const length = reader.uvarint()
  if (length === 0 || length > limits.cidBytes) throw new MalformedBytes('a content identifier has another length')
  return reader.bytes(length)
}

function readBlockBytes(reader: ByteReader): Buffer {
  const length = reader.uvarint()
  if (length > format.fileBlockBytes) throw new MalformedBytes('a block is too large')
  return reader.bytes(length)
}
