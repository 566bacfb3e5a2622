import { limits } from '../../limits.ts'
import type { Block, LogReader, ReadStream } from '../../store/log/index.ts'
import type { SampleJob } from '../../store/threads/reader-host.ts'
import { nameOf, presentOf } from './bounds.ts'
import type { QueryRequest, SubscribeRequest } from './requests.ts'

/** Streams that are looked at for events that are small enough. */
const mostTried = 8
/** Whoever follows streams has something for each of them. */
const mostFollowed = 64

/** Queries of a kind that is often asked for, over one stream: each reads the first events of it or the last, and holds little. */
export function samplesOf(reader: LogReader): readonly SampleJob[] {
  const stream = reader
    .streams()
    .slice(0, mostTried)
    .find((candidate) => isSmall(reader, candidate))
  if (stream === undefined) return []
  const present = presentOf(reader)
  const name = nameOf(stream)
  const last = reader.counts.count(stream.number) - 1
  const from = { appId: 'com.example.sample', via: 'node' } as const
  const bounds = { lowerBound: {}, upperBound: { [name]: last } }
  const copied: QueryRequest = { ...from, ...bounds, query: 'FROM allEvents', order: 'asc' }
  const selected = 'FROM allEvents FILTER _.value > 0 SELECT _.value'
  const evaluated: QueryRequest = { ...from, ...bounds, query: selected, order: 'desc' }
  const queries = [copied, evaluated].map((request) => ({ name: 'query', request }))
  if (reader.streams().length > mostFollowed) return queries
  const lowerBound = { ...present, [name]: Math.max(-1, last - 2) }
  const followed: SubscribeRequest = { ...from, query: 'FROM allEvents', lowerBound }
  return [...queries, { name: 'subscribe', request: followed }]
}

/** Whether the blocks at both ends of a stream are small, and their events there. */
function isSmall(reader: LogReader, { number }: ReadStream): boolean {
  const [first, last] = [reader.counts.pruned(number), reader.counts.count(number) - 1]
  if (last < first) return false
  const blocks: readonly (readonly [Block | undefined, number])[] = [
    [reader.block(number, first, 1), first],
    [reader.block(number, last, -1), last],
  ]
  return blocks.every(
    ([block, offset]) =>
      block !== undefined &&
      block.lineBytes(0, block.count) <= limits.sampleBytes &&
      !block.isRemoved(offset - block.first),
  )
}
