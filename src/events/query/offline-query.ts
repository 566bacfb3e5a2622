import { finish, type GivenEvent } from '../../aql/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventReader, Job } from '../../store/reading/index.ts'
import { makeGivenJob, makeQueryJob } from './query-job.ts'
import type { QueryRequest } from './query-requests.ts'

type Asked = Pick<QueryRequest, 'query' | 'appId' | 'order'>

/** Answers a query from a log that no node uses, in pieces of whole lines. */
export function queryStopped(reader: EventReader, asked: Asked, clock: Clock): Generator<string> {
  return lines(finish(makeQueryJob(reader, requestOf(asked), clock)))
}

/** Answers a query from events that somebody has, in the same way. */
export function queryGiven(events: readonly GivenEvent[], asked: Asked, clock: Clock): Generator<string> {
  return lines(finish(makeGivenJob(events, requestOf(asked), clock)))
}

function requestOf(asked: Asked): QueryRequest {
  return { ...asked, via: 'http', lowerBound: {}, upperBound: undefined }
}

function* lines(job: Job): Generator<string> {
  for (let state = 'busy'; state !== 'done'; ) {
    state = job.run(Number.POSITIVE_INFINITY)
    const written = job.take()
    if (written.length > 0) yield Buffer.from(written).toString()
  }
}
