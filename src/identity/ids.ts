import { base58btc } from 'multiformats/bases/base58'
import { ShoalError } from '../base/errors.ts'
import { decodeCrypt64, encodeCrypt64 } from './crypt64.ts'
import type { PublicKey } from './keys.ts'

/** A node ID: the node's public key as 43 characters that sort like its bytes. */
export type NodeId = string & { readonly __brand: 'NodeId' }

export function nodeIdOf(key: PublicKey): NodeId {
  return encodeCrypt64(key) as NodeId
}

export function parseNodeId(text: string): NodeId {
  if (keyBytes(text) === undefined) throw invalid(`'${text}' is not a node ID: 43 characters of ./0-9A-Za-z`)
  return text as NodeId
}

export function publicKeyOf(node: NodeId): PublicKey {
  const bytes = keyBytes(node)
  if (bytes === undefined) throw invalid(`'${node}' is not a node ID: 43 characters of ./0-9A-Za-z`)
  return bytes as PublicKey
}

function keyBytes(text: string): Uint8Array | undefined {
  const bytes = text.length === 43 ? decodeCrypt64(text) : undefined
  return bytes?.length === 32 ? bytes : undefined
}

/** A stream ID: the node that writes the stream, and the stream's number within that node. */
export interface StreamId {
  readonly node: NodeId
  readonly number: bigint
}

const maxStreamNumber = 2n ** 64n - 1n

export function formatStreamId({ node, number }: StreamId): string {
  return `${node}-${number}`
}

export function parseStreamId(text: string): StreamId {
  const [node = '', number = '', ...rest] = text.split('-')
  if (rest.length > 0 || !/^(0|[1-9][0-9]{0,19})$/.test(number) || BigInt(number) > maxStreamNumber)
    throw invalid(`'${text}' is not a stream ID: <node ID>-<number>`)
  return { node: parseNodeId(node), number: BigInt(number) }
}

/** Prefix of a libp2p peer ID: an identity multihash of the protobuf encoding of an Ed25519 key. */
const peerIdPrefix = Uint8Array.of(0x00, 0x24, 0x08, 0x01, 0x12, 0x20)

export function peerIdOf(key: PublicKey): string {
  return base58btc.baseEncode(Uint8Array.of(...peerIdPrefix, ...key))
}

export function parsePeerId(text: string): PublicKey {
  let bytes: Uint8Array
  try {
    bytes = base58btc.baseDecode(text)
  } catch {
    throw invalid(`'${text}' is not a peer ID (12D3KooW…)`)
  }
  const isKey = bytes.length === peerIdPrefix.length + 32 && peerIdPrefix.every((byte, i) => bytes[i] === byte)
  if (!isKey) throw invalid(`'${text}' is not a peer ID of an Ed25519 key (12D3KooW…)`)
  return bytes.slice(peerIdPrefix.length) as PublicKey
}

function invalid(cause: string): ShoalError {
  return new ShoalError('ERR_INVALID_INPUT', cause)
}
