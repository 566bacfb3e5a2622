import { limits } from '../../../base/limits.ts'
import {
  type Chunk,
  type Frame,
  genesis,
  type Head,
  heads,
  MalformedBytes,
  readVerifiedChunk,
  signedHeadOf,
  type TopicKind,
} from '../../../protocol/index.ts'
import {
  type ChunkLink,
  type GivenChunk,
  linkChunk,
  type MalformedChunk,
  nameOfStream,
  type StreamEnd,
  summaryOf,
  type VerifiedContents,
  verifyGiven,
} from '../../../replication/index.ts'
import { packRecords } from '../rows/tail-row.ts'
import { appHashOf } from '../tag-index/tag-index.ts'

/** A chunk of which everything was verified that needs no store. It can be sent between threads. */
export interface VerifiedChunk extends Omit<GivenChunk, 'end'> {
  readonly first: number
  /** The lamport timestamp of its first event. */
  readonly lamport: number
  readonly isComplete: boolean
  readonly link: ChunkLink | undefined
  /** The hashes of the apps of its events. */
  readonly apps: readonly number[]
  /** Where its records start; they go to its end. */
  readonly recordsAt: number
  /** Its records as they are stored, if they are compressed. */
  readonly packed: Uint8Array | undefined
}

/**
 * Verifies chunks apart from the store, so that a bad one costs the writer nothing: signature, labels, payloads, and the
 * hash chain, if the hash at its start is known. Streams mostly come in order, so the ends of the last chunks are kept.
 */
export class ChunkVerifier {
  readonly #kind: TopicKind
  /** The ends of verified chunks by stream, the least recently used first. */
  readonly #ends = new Map<string, StreamEnd>()

  constructor(kind: TopicKind) {
    this.#kind = kind
  }

  check(chunk: GivenChunk): VerifiedChunk | MalformedChunk {
    try {
      return this.#verify(chunk)
    } catch (error) {
      if (!(error instanceof MalformedBytes)) throw error
      return { state: 'malformed', reason: error.message }
    }
  }

  #verify({ bytes, before, end }: GivenChunk): VerifiedChunk {
    const { chunk, link: given } = verifyGiven(bytes, before)
    const link = this.#link(chunk, given, end)
    const { first, lamport, isComplete } = summaryOf(chunk, link)
    const recordsAt = chunk.frames[0]?.record[0] as number
    const records = bytes.subarray(recordsAt)
    const body = link?.leads === true ? packRecords(records) : records
    const packed = body === records ? undefined : ownMemory(body)
    return { bytes, before, first, lamport, isComplete, link, apps: appsOf(chunk), recordsAt, packed }
  }

  #link(chunk: Chunk, given: ChunkLink | undefined, stored: StreamEnd | undefined): ChunkLink | undefined {
    const name = nameOfStream(chunk.head.stream)
    const link = given ?? this.#linkFromEnd(chunk, [this.#ends.get(name), stored])
    this.#ends.delete(name)
    if (link?.leads !== true) return link
    this.#ends.set(name, { count: chunk.head.count, hash: chunk.head.hash })
    const [oldest] = this.#ends.keys()
    if (this.#ends.size > limits.linkedStreams && oldest !== undefined) this.#ends.delete(oldest)
    return link
  }

  #linkFromEnd(chunk: Chunk, ends: readonly (StreamEnd | undefined)[]): ChunkLink | undefined {
    const { head, first } = chunk
    if (first === 0) return linkChunk(chunk, genesis(head.topic, head.stream, this.#kind))
    const end = ends.find((known) => known?.count === first)
    return end && linkChunk(chunk, end.hash)
  }
}

/** A verified chunk whose frames are parsed when they are needed: many a chunk is answered without them. */
export class LazyChunk implements VerifiedContents {
  readonly head: Head
  readonly signedHead: Buffer
  readonly first: number
  readonly size: number
  readonly link: ChunkLink | undefined
  readonly #bytes: Uint8Array
  #frames: readonly Frame[] | undefined

  constructor({ bytes, first, link }: VerifiedChunk) {
    this.signedHead = signedHeadOf(bytes)
    this.head = heads.decode(this.signedHead)
    this.first = first
    this.size = bytes.length
    this.link = link
    this.#bytes = bytes
  }

  get frames(): readonly Frame[] {
    this.#frames ??= readVerifiedChunk(this.#bytes).frames
    return this.#frames
  }
}

function appsOf({ frames }: Chunk): number[] {
  const apps = new Set<number>()
  for (const { bytes, count, labels } of frames)
    for (let i = 0; i < count; i++) apps.add(appHashOf(bytes, labels[2 * i] as number, labels[2 * i + 1] as number))
  return [...apps]
}

/** Between threads, a view takes all of its memory along. */
function ownMemory(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes)
}
