import { ByteReader, ByteWriter, type Frame, FrameBuilder, randomSeed, readFrame } from '../../protocol/index.ts'
import {
  type AppendedFrames,
  FrameCollector,
  forkedStream,
  growOwn,
  isChunkFull,
  isFrameFull,
  isReplicated,
  ownStreamKey,
  type StreamPosition,
  signHead,
  storableNow,
} from '../../replication/index.ts'
import type { Random } from '../../runtime/random.ts'
import { type Appended, type AppendRequest, addToRuns, type Run } from '../port/index.ts'
import type { MemoryStream } from './memory-stream.ts'
import type { MemoryStreams } from './memory-streams.ts'

/** Appends events to own streams. */
export class MemoryAppender {
  readonly #streams: MemoryStreams
  readonly #random: Random
  readonly #builder = new FrameBuilder()
  #frames: FrameCollector | undefined

  constructor(streams: MemoryStreams, random: Random) {
    this.#streams = streams
    this.#random = random
  }

  append(request: AppendRequest): Appended {
    const time = storableNow(this.#streams.context)
    const targets = this.#targets(request)
    for (const [number, { fork }] of targets) if (fork !== undefined) throw forkedStream(number)
    const lamport = this.#streams.clock.take(request.streams.length)
    const runs = runsOf(request, targets)
    // All frames are built before any change, because that throws for an invalid request.
    const additions = [...targets.values()].map(
      (stream) => [stream, this.#framesOf(request, stream.position, lamport, time)] as const,
    )
    for (const [stream, frames] of additions) this.add(stream, frames)
    this.#frames?.commit()
    return { lamport, time, runs }
  }

  /** Starts to collect the frames of commits, or ends it. Imported streams are never announced. */
  collectFrames(isWanted: boolean): void {
    if (!isWanted) this.#frames = undefined
    else if (isReplicated(this.#streams.context)) this.#frames ??= new FrameCollector(() => 0)
  }

  /** The frames of the commits since the last call, with signed heads. */
  takeAppended(): readonly AppendedFrames[] {
    return (
      this.#frames?.take((key) => {
        const stream = this.#streams.find(key)
        return stream && this.#streams.head(stream)
      }) ?? []
    )
  }

  /** The streams of a request by number, in order of first occurrence. */
  #targets({ streams }: AppendRequest): Map<number, MemoryStream> {
    const targets = new Map<number, MemoryStream>()
    let next = this.#streams.all.length
    for (const number of new Set(streams)) {
      const key = ownStreamKey(number, this.#streams.context)
      targets.set(number, this.#streams.find(key) ?? this.#streams.create(key, undefined, next++))
    }
    return targets
  }

  /** Builds the frames of a request for one of its streams. */
  #framesOf(
    { source, spans, streams }: AppendRequest,
    { key, count }: StreamPosition,
    lamport: number,
    time: number,
  ): Frame[] {
    const builder = this.#builder
    const frames: Frame[] = []
    let first = count
    const endFrame = (): void => {
      const record = new ByteWriter()
      builder.finish(first, randomSeed(this.#random), record)
      const frame = readFrame(new ByteReader(record.written))
      frames.push(frame)
      first += frame.count
    }
    builder.clear()
    for (const [i, number] of streams.entries()) {
      if (number !== key.number) continue
      builder.add(lamport + i, time, source, spans, 4 * i)
      if (isFrameFull(builder)) endFrame()
    }
    if (builder.count > 0) endFrame()
    return frames
  }

  /** Adds frames that were built for the end of a stream. */
  add(stream: MemoryStream, frames: readonly Frame[]): void {
    const { position } = stream
    const { context } = this.#streams
    this.#streams.keep(stream)
    for (const frame of frames) {
      const [start, end] = frame.record
      const lamport = frame.lamports[frame.count - 1] as number
      const before = position.chain.hash
      growOwn(position, { count: frame.count, lamport, chain: position.chain.after(frame), bytes: end - start })
      stream.keep([frame])
      const record = frame.bytes.subarray(start, end)
      this.#frames?.add(stream.key, { first: frame.first, before, count: position.count }, record)
      if (!isChunkFull(position) || !isReplicated(context)) continue
      const head = signHead(position, true, context)
      stream.addCheckpoint(head)
      this.#frames?.endChunk(stream.key, head)
    }
  }
}

/** The offsets of the events of a request: one run for consecutive events of a stream. */
function runsOf({ streams }: AppendRequest, targets: ReadonlyMap<number, MemoryStream>): Run[] {
  const ends = new Map([...targets].map(([number, { position }]) => [number, position.count]))
  const runs: Run[] = []
  for (const stream of streams) {
    const offset = ends.get(stream) ?? 0
    addToRuns(runs, stream, offset)
    ends.set(stream, offset + 1)
  }
  return runs
}
