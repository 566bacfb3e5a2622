import { hash } from 'node:crypto'
import type { PublicKey } from '../identity/index.ts'
import { type ByteReader, ByteWriter } from './bytes.ts'

/** A stream within a topic, as it stands in everything that is hashed or signed. */
export interface StreamKey {
  readonly node: PublicKey
  readonly number: number
}

/** The state of a hash chain after some frame: 32 bytes as a latin1 string, the form that costs least. */
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

/** How the events of a topic came to be here. */
export type TopicKind =
  /** Written by their nodes; every stream is signed. */
  | 'live'
  /** Restored from a dump: chained, but signed by nobody, and never told to other nodes. */
  | 'imported'

const genesisDomain: Record<TopicKind, string> = {
  live: 'shoal/genesis/1\0',
  imported: 'shoal/imported-genesis/1\0',
}

/** What the chain of a stream starts from: a stream of another topic has another chain, whatever its events are. */
export function genesis(topic: string, stream: StreamKey, kind: TopicKind = 'live'): Hash {
  const writer = new ByteWriter().latin1(genesisDomain[kind]).text(topic)
  writeStream(writer, stream)
  return sha256(writer.written)
}
