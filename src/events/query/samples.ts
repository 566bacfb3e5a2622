import type { LogReader } from '../../store/log/index.ts'
import type { SampleJob } from '../../store/threads/reader-host.ts'
import { presentOf } from './bounds.ts'
import type { QueryRequest, SubscribeRequest } from './requests.ts'

/** Queries of a kind that is often asked for, over one stream, of which each reads the first events or the last. */
export function samplesOf(reader: LogReader): readonly SampleJob[] {
  const present = presentOf(reader)
  const [stream] = Object.entries(present)
  if (stream === undefined) return []
  const [name, last] = stream
  const from = { appId: 'com.example.sample', via: 'node' } as const
  const bounds = { lowerBound: {}, upperBound: { [name]: last } }
  const copied: QueryRequest = { ...from, ...bounds, query: 'FROM allEvents', order: 'asc' }
  const selected = 'FROM allEvents FILTER _.value > 0 SELECT _.value'
  const evaluated: QueryRequest = { ...from, ...bounds, query: selected, order: 'desc' }
  const lowerBound = { ...present, [name]: Math.max(-1, last - 2) }
  const followed: SubscribeRequest = { ...from, query: 'FROM allEvents', lowerBound }
  return [
    { name: 'query', request: copied },
    { name: 'query', request: evaluated },
    { name: 'subscribe', request: followed },
  ]
}
