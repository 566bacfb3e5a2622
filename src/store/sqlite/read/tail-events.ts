import { viewOf } from '../../../json/plain-text.ts'
import type { Frame } from '../../../protocol/index.ts'

/** Consecutive events of frames, as columns. A frame is one itself. */
export interface TailEvents {
  readonly first: number
  readonly count: number
  readonly bytes: Buffer
  readonly view: DataView
  readonly lamports: Float64Array
  readonly times: Float64Array
  /** Start and end of the labels of each event. */
  readonly labels: Int32Array
  /** Start and end of each payload; the start is -1 if it was redacted. */
  readonly payloads: Int32Array
}

/** Memory of the columns, per event and in total. */
const overhead = { perEvent: 32, total: 1024 } as const

export function heldBytesOf({ bytes, count }: TailEvents): number {
  return bytes.length + overhead.perEvent * count + overhead.total
}

/**
 * Joins consecutive frames. The objects of a frame take more memory than a single small event, so a tail of single
 * events would fill the cache.
 */
export function joinFrames(frames: readonly [Frame, ...Frame[]]): TailEvents {
  const [{ first }] = frames
  if (frames.length === 1) return frames[0]
  const count = frames.reduce((sum, frame) => sum + frame.count, 0)
  const bytes = Buffer.allocUnsafeSlow(frames.reduce((sum, { record: [start, end] }) => sum + end - start, 0))
  const [lamports, times] = [new Float64Array(count), new Float64Array(count)]
  const [labels, payloads] = [new Int32Array(2 * count), new Int32Array(2 * count)]
  let [at, index] = [0, 0]
  for (const frame of frames) {
    const [start, end] = frame.record
    frame.bytes.copy(bytes, at, start, end)
    lamports.set(frame.lamports, index)
    times.set(frame.times, index)
    for (let i = 0; i < 2 * frame.count; i++) {
      const payload = frame.payloads[i] as number
      labels[2 * index + i] = (frame.labels[i] as number) + at - start
      payloads[2 * index + i] = payload < 0 ? payload : payload + at - start
    }
    at += end - start
    index += frame.count
  }
  return { first, count, bytes, view: viewOf(bytes), lamports, times, labels, payloads }
}
