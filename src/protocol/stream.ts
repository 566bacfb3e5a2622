import { hash } from 'node:crypto'
import type { PublicKey } from '../identity/index.ts'
import { type ByteReader, ByteWriter } from './bytes.ts'

/** Identifies a stream within a topic, in everything that is hashed or signed. */
export interface StreamKey {
  readonly node: PublicKey
  /** The number among the streams of the node, as in the stream ID. */
  readonly number: number
}

/** The hash of a chain after a frame: 32 bytes as a latin1 string, which is the cheapest representation. */
export type Hash = string & { readonly __brand: 'Hash' }

export function writeStream(writer: ByteWriter, { node, number }: StreamKey): void {
  writer.bytes(node).uvarint(number)
}

export function readStream(reader: ByteReader): StreamKey {
  const node = Uint8Array.from(reader.bytes(32)) as PublicKey
  return { node, number: reader.uvarint() }
}

export const hashLength = 32

export function sha256(bytes: Uint8Array): Hash {
  return hash('sha256', bytes, 'binary') as Hash
}

/** The origin of the events of a topic. */
export type TopicKind =
  /** Written by their nodes; every stream is signed. */
  | 'live'
  /** Restored from a dump: chained, but unsigned, and never replicated. */
  | 'imported'

const genesisDomain: Record<TopicKind, string> = {
  live: 'shoal/genesis/1\0',
  imported: 'shoal/imported-genesis/1\0',
}

/** The genesis hash, which the chain of a stream starts from: the same events in another topic have another chain. */
export function genesis(topic: string, stream: StreamKey, kind: TopicKind = 'live'): Hash {
  const writer = new ByteWriter().latin1(genesisDomain[kind]).text(topic)
  writeStream(writer, stream)
  return sha256(writer.written)
}
