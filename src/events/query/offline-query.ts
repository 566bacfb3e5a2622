import { type InlineEvent, runToEnd } from '../../aql/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventReader, Job } from '../../store/reading/index.ts'
import { makeEventListJob, makeQueryJob } from './query-job.ts'
import type { QueryRequest } from './query-requests.ts'

type OfflineQuery = Pick<QueryRequest, 'query' | 'appId' | 'order'>

/** Runs a query on the log of a stopped node. Yields pieces of whole lines. */
export function queryOfflineLog(reader: EventReader, query: OfflineQuery, clock: Clock): Generator<string> {
  return lines(runToEnd(makeQueryJob(reader, requestOf(query), clock)))
}

/** Runs a query on a list of events, in the same way. */
export function queryEventList(events: readonly InlineEvent[], query: OfflineQuery, clock: Clock): Generator<string> {
  return lines(runToEnd(makeEventListJob(events, requestOf(query), clock)))
}

function requestOf(query: OfflineQuery): QueryRequest {
  return { ...query, via: 'http', lowerBound: {}, upperBound: undefined }
}

function* lines(job: Job): Generator<string> {
  for (let state = 'busy'; state !== 'done'; ) {
    job.begin()
    state = job.run(Number.POSITIVE_INFINITY)
    const written = job.take()
    if (written.length > 0) yield Buffer.from(written).toString()
  }
}
