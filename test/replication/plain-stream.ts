import { ByteReader, genesis, readFrame } from '../../src/protocol/index.ts'
import type { StoredStream } from '../../src/replication/index.ts'
import type { WrittenStream } from './written-stream.ts'

/** A stored copy of a written stream, with checkpoints after the given numbers of frames. */
export function storedCopy(
  source: WrittenStream,
  checkpoints: readonly number[] = [],
  prunedFrames = 0,
): StoredStream & { readonly newest: Uint8Array } {
  const pruned = source.startOf(prunedFrames)
  const signed = checkpoints
    .filter((frames) => frames >= prunedFrames)
    .map((frames) => ({ count: source.startOf(frames), head: source.head(frames, { checkpoint: true }) }))
  const frames = source.frames.slice(prunedFrames).map(({ record }) => readFrame(new ByteReader(record)))
  return {
    count: source.count,
    pruned,
    frozen: undefined,
    genesis: genesis('t', source.stream),
    newest: source.head(source.frames.length),
    checkpointAfter: (offset) => signed.find(({ count }) => count > offset)?.head,
    checkpointUpTo: (most) => signed.findLast(({ count }) => count <= most)?.head,
    frames: (from, to) => frames.filter(({ first, count }) => first + count > from && first < to),
  }
}
