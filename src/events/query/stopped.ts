import type { LogReader } from '../../store/log/index.ts'
import { makeQueryJob } from './query-job.ts'
import type { QueryRequest } from './requests.ts'

/** Answers a query from a log that no node uses, in pieces of whole lines. */
export function* queryStopped(
  reader: LogReader,
  request: Pick<QueryRequest, 'query' | 'appId' | 'order'>,
): Generator<string> {
  const all: QueryRequest = { ...request, via: 'http', lowerBound: {}, upperBound: undefined }
  const job = makeQueryJob(reader, all)
  for (let state = 'busy'; state !== 'done'; ) {
    state = job.run(Number.POSITIVE_INFINITY)
    const lines = job.take()
    if (lines.length > 0) yield Buffer.from(lines).toString()
  }
}
