import { type Call, type HttpResponse, jsonResponse, type Route } from '../../api/index.ts'
import type { Events } from '../../events/index.ts'
import type { Files } from '../../files/index.ts'
import { formatStreamId, parseStreamId } from '../../identity/index.ts'
import type { Timers } from '../../runtime/timers.ts'
import { acceptRestoredTopics, readStats, type TopicStats } from '../../store/index.ts'
import type { StoreJobs } from '../store-jobs.ts'
import { JobStream } from './job-stream.ts'
import { adminPath, invalid, jsonBody, requiredMember } from './requests.ts'

export interface StoreParts {
  /** The data folder. */
  readonly folder: string
  /** The events of the current topic. */
  readonly events: () => Promise<Events>
  /** The files of the current topic. */
  readonly files: () => Promise<Files>
  readonly storeJobs: StoreJobs
  /** The folder of a backup that a request names. */
  readonly backupTarget: (named: string) => string
  readonly timers: Timers
}

const ndjson = { 'content-type': 'application/x-ndjson', 'cache-control': 'no-store' }

/** The store of the running node: statistics, verification, backup, and decisions of the operator about streams. */
export function storeRoutes({ folder, events, files, storeJobs, backupTarget, timers }: StoreParts): Route[] {
  let counting: Promise<readonly TopicStats[]> | undefined
  const stats = async (): Promise<HttpResponse> => {
    // Waits until the databases of the topic exist.
    await Promise.all([events(), files()])
    // One thread at a time: concurrent requests share its result.
    counting ??= readStats(folder).finally(() => {
      counting = undefined
    })
    return jsonResponse(200, await counting)
  }
  const acceptRestored = (): HttpResponse => jsonResponse(200, { accepted: acceptRestoredTopics(folder) })
  const forgetStream = async (call: Call): Promise<HttpResponse> => {
    const text = requiredMember(await jsonBody(call), 'stream', 'the ID of the stream, <node ID>-<number>')
    if (typeof text !== 'string') throw invalid('stream: not a string. Allowed: a stream ID, <node ID>-<number>.')
    const stream = parseStreamId(text)
    return jsonResponse(200, { stream: formatStreamId(stream), forgotten: await (await events()).forgetStream(stream) })
  }
  const verify = (): HttpResponse => {
    const body = new JobStream((progress) => storeJobs.verify(progress), timers)
    return { status: 200, headers: ndjson, body }
  }
  const backUp = async (call: Call): Promise<HttpResponse> => {
    const named = requiredMember(await jsonBody(call), 'target', 'the folder of the backup, which must not exist')
    if (typeof named !== 'string') throw invalid('target: not a string.')
    const target = backupTarget(named)
    return {
      status: 200,
      headers: ndjson,
      body: new JobStream((progress) => storeJobs.backUp(target, progress), timers),
    }
  }
  const path = `${adminPath}/store`
  return [
    { path: `${path}/verify`, methods: { POST: { authenticated: true, handle: verify } } },
    { path: `${path}/backup`, methods: { POST: { authenticated: true, consumes: 'json', handle: backUp } } },
    { path: `${path}/stats`, methods: { GET: { authenticated: true, handle: stats } } },
    { path: `${path}/accept-restored`, methods: { POST: { authenticated: true, handle: acceptRestored } } },
    {
      path: `${path}/forget-stream`,
      methods: { POST: { authenticated: true, consumes: 'json', handle: forgetStream } },
    },
  ]
}
