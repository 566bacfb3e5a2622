import { limits } from '../base/limits.ts'
import { type Hash, heads, type StreamKey } from '../protocol/index.ts'
import { nameOfStream } from './streams.ts'

/** Consecutive frames that commits have added to an own stream, up to a signed head: together they are a chunk. */
export interface AppendedFrames {
  readonly stream: StreamKey
  /** The offset of the first event. */
  readonly first: number
  /** The chain hash before the frames. */
  readonly before: Hash
  /** The records as committed; undefined when too many are unread: then the events are only announced. */
  readonly records: readonly Uint8Array[] | undefined
  /** Number of events of the stream after them. */
  readonly count: number
  /** The signed head at that count. It is a checkpoint if a chunk ends there. */
  readonly head: Uint8Array
}

interface Piece {
  readonly stream: StreamKey
  readonly first: number
  readonly before: Hash
  records: Uint8Array[] | undefined
  count: number
  /** Undefined until a chunk ends with the piece, or the newest head is signed. */
  head: Uint8Array | undefined
}

/** Collects the frames of commits for replication, from the memory of the writer, while somebody listens. */
export class FrameCollector {
  /** By stream: the pieces of successful commits, and those of the current one. */
  readonly #committed = new Map<string, Piece[]>()
  readonly #current = new Map<string, Piece[]>()
  readonly #unread: () => number
  /** Bytes of the collected records. */
  #bytes = 0
  #currentBytes = 0

  /** @param unread bytes of records that were taken from here, and that the listeners have not got yet */
  constructor(unread: () => number) {
    this.#unread = unread
  }

  /** Adds a frame of the current commit; its record is copied. */
  add(stream: StreamKey, place: { first: number; before: Hash; count: number }, record: Uint8Array): void {
    const pieces = entry(this.#current, nameOfStream(stream))
    let piece = pieces.at(-1)
    // Behind a gap the next frames would be of no use: they are announced with the ones before.
    if (piece === undefined || (piece.head !== undefined && piece.records !== undefined)) {
      piece = { stream, first: place.first, before: place.before, records: [], count: place.first, head: undefined }
      pieces.push(piece)
    }
    piece.count = place.count
    piece.head = undefined
    if (piece.records === undefined) return
    if (this.#unread() + this.#bytes + this.#currentBytes + record.length > limits.unreadFrameBytes)
      piece.records = undefined
    else {
      piece.records.push(new Uint8Array(record))
      this.#currentBytes += record.length
    }
  }

  /** Ends a piece with the checkpoint head of its last frame. */
  endChunk(stream: StreamKey, head: Uint8Array): void {
    const piece = this.#current.get(nameOfStream(stream))?.at(-1)
    if (piece !== undefined) piece.head = Uint8Array.from(head)
  }

  /** The current commit is on disk. */
  commit(): void {
    for (const [name, pieces] of this.#current) {
      const committed = entry(this.#committed, name)
      for (const piece of pieces) {
        const last = committed.at(-1)
        if (last === undefined || (last.head !== undefined && last.records !== undefined)) committed.push(piece)
        else join(last, piece)
      }
    }
    this.#bytes += this.#currentBytes
    this.rollback()
  }

  /** The current commit has failed. */
  rollback(): void {
    this.#current.clear()
    this.#currentBytes = 0
  }

  /**
   * Takes what was committed since the last call. Called after the commits were acknowledged, since it signs heads.
   * @param sign the newest head of a stream. If it throws (the clock may be wrong) the last piece of the stream is left
   * out, and other nodes have to ask for its events.
   */
  take(sign: (stream: StreamKey) => Uint8Array | undefined): AppendedFrames[] {
    const pieces = [...this.#committed.values()].flat()
    this.#committed.clear()
    this.#bytes = 0
    return pieces.flatMap((piece) => {
      const head = piece.head ?? signed(() => sign(piece.stream))
      if (head === undefined) return []
      const { count } = heads.decodeStored(head)
      // A commit that failed may be on disk all the same, with frames that were not collected.
      return count === piece.count ? [{ ...piece, head }] : [{ ...piece, head, count, records: undefined }]
    })
  }
}

function signed(sign: () => Uint8Array | undefined): Uint8Array | undefined {
  try {
    return sign()
  } catch {
    return undefined
  }
}

function join(last: Piece, next: Piece): void {
  last.records = last.records && next.records && [...last.records, ...next.records]
  last.count = next.count
  last.head = next.head
}

function entry(pieces: Map<string, Piece[]>, name: string): Piece[] {
  const known = pieces.get(name) ?? []
  pieces.set(name, known)
  return known
}
