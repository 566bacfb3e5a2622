import type { ChunkSize, FrameTime } from './streams.ts'

/** Joins consecutive parts of a stream (segments, rows, frames) to chunks: a chunk ends where a part ends it. */
export function joinChunks(parts: Iterable<ChunkSize>): ChunkSize[] {
  const chunks: ChunkSize[] = []
  for (const part of parts) {
    const open = chunks.at(-1)
    if (open === undefined || open.complete) chunks.push(part)
    else chunks[chunks.length - 1] = { ...part, first: open.first, bytes: open.bytes + part.bytes }
  }
  return chunks
}

interface TimedEvents {
  readonly first: number
  readonly times: Float64Array
}

/** The end and the newest time of a frame. */
export function frameTime({ first, times }: TimedEvents): FrameTime {
  return { end: first + times.length, time: times.reduce((newest, time) => Math.max(newest, time), 0) }
}

/** The newest time of the events with offsets `from..to`; undefined if the parts contain none of them. */
export function newestTimeIn(parts: Iterable<TimedEvents>, from: number, to: number): number | undefined {
  let newest: number | undefined
  for (const { first, times } of parts)
    for (let i = Math.max(0, from - first); i < times.length && first + i <= to; i++)
      newest = Math.max(newest ?? 0, times[i] as number)
  return newest
}
