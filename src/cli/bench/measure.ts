import { limits } from '../../base/limits.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ApiClient } from '../client/api-client.ts'
import { readLines } from '../client/response-body.ts'
import { type Figures, type Latency, latencyOf } from './figures.ts'

/** The tag of all events of this command. */
export const benchTag = 'shoal-bench'

const singleEvents = 100
const concurrentEvents = 500
const concurrency = 32
const batch = 100
const liveEvents = 50

/** Number of events that a run publishes besides those in batches. */
export const fixedEvents = singleEvents + concurrentEvents + liveEvents

interface Run {
  readonly api: ApiClient
  readonly clock: Clock
  /** Tag of the events of this run. */
  readonly tag: string
  /** Called with the number of events that are published. */
  readonly progress: (published: number) => void
  next: number
  published: number
}

/** Measures a node through its API: publishes `events` events, queries them, and subscribes. */
export async function measure(
  given: Pick<Run, 'api' | 'clock' | 'tag' | 'progress'>,
  events: number,
): Promise<Figures> {
  const run: Run = { ...given, next: 0, published: 0 }
  const { tag } = run
  const publishOneMs = await single(run)
  const publishConcurrentPerSecond = await concurrent(run)
  const publishBatchPerSecond = await batches(run, events - fixedEvents)
  const stored = run.next
  const all = await query(run, `FROM '${tag}'`, 'asc')
  const selective = await query(run, `FROM '${tag}:order:7'`, 'asc')
  const last = await query(run, `FROM '${tag}' ORDER DESC LIMIT 10`, 'desc')
  return {
    events: stored + liveEvents,
    publishOneMs,
    publishConcurrentPerSecond,
    publishBatchPerSecond,
    queryAllPerSecond: (1000 * stored) / all,
    querySelectiveMs: selective,
    queryLastMs: last,
    liveMs: await live(run),
  }
}

/** An event as a machine would publish it, with about 200 bytes of payload. */
function event(run: Run): object {
  const i = run.next++
  return {
    tags: [benchTag, run.tag, `${run.tag}:order:${i % 1000}`],
    payload: {
      type: 'measurement',
      id: i,
      machine: `machine-${i % 7}`,
      value: Math.sin(i) * 100,
      unit: 'celsius',
      note: 'temperature at the outlet of the second stage',
    },
  }
}

async function publish(run: Run, data: readonly object[]): Promise<void> {
  const body = JSON.stringify({ data })
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  await run.api.text('/api/v2/events/publish', { method: 'POST', headers, body })
  run.published += data.length
  run.progress(run.published)
}

async function timed({ clock }: Run, work: () => Promise<unknown>): Promise<number> {
  const start = clock.steadyMs()
  await work()
  return clock.steadyMs() - start
}

async function single(run: Run): Promise<Latency> {
  const durations: number[] = []
  for (let i = 0; i < singleEvents; i++) durations.push(await timed(run, () => publish(run, [event(run)])))
  return latencyOf(durations)
}

async function concurrent(run: Run): Promise<number> {
  let left = concurrentEvents
  const publisher = async (): Promise<void> => {
    while (left-- > 0) await publish(run, [event(run)])
  }
  const ms = await timed(run, () => Promise.all(Array.from({ length: concurrency }, publisher)))
  return (1000 * concurrentEvents) / ms
}

async function batches(run: Run, count: number): Promise<number> {
  const ms = await timed(run, async () => {
    for (let left = count; left > 0; left -= batch)
      await publish(
        run,
        Array.from({ length: Math.min(batch, left) }, () => event(run)),
      )
  })
  return (1000 * count) / ms
}

async function query(run: Run, text: string, order: 'asc' | 'desc'): Promise<number> {
  return await timed(run, async () => {
    const response = await run.api.get('/api/v2/events/query', post({ query: text, order }))
    for await (const chunk of response) void chunk
  })
}

/** The time until a subscriber has an event. */
async function live(run: Run): Promise<Latency> {
  const tag = `${run.tag}:live`
  const response = await run.api.get('/api/v2/events/subscribe', post({ query: `FROM '${tag}'` }))
  try {
    const lines = readLines(response, limits.answerLineBytes)
    const durations: number[] = []
    for (let i = 0; i < liveEvents; i++)
      durations.push(
        await timed(run, () =>
          Promise.all([publish(run, [{ tags: [benchTag, tag], payload: { i } }]), untilEvent(lines)]),
        ),
      )
    return latencyOf(durations)
  } finally {
    response.destroy()
  }
}

async function untilEvent(lines: AsyncGenerator<string>): Promise<void> {
  for (let line = await lines.next(); line.done !== true; line = await lines.next())
    if (line.value.includes('"type":"event"')) return
}

function post(value: object): { method: string; headers: Record<string, string | number>; body: string } {
  const body = JSON.stringify(value)
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) },
    body,
  }
}
