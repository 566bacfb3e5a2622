import { setTimeout } from 'node:timers/promises'
import { Latencies } from './latencies.ts'
import { post, type Target, textOf } from './target.ts'

/** Publishes single events at a fixed rate (open loop), up to a number of events or until it is stopped. */
export async function publishAt(
  target: Target,
  perSecond: number,
  tag: string,
  until: { readonly count: number; readonly signal?: AbortSignal },
): Promise<Latencies> {
  const latencies = new Latencies()
  const open: Promise<void>[] = []
  const failed = new AbortController()
  const begun = performance.now()
  const publish = async (n: number): Promise<void> => {
    const sent = performance.now()
    await textOf(await post(target, 'publish', { data: [{ tags: [tag], payload: { n } }] }))
    latencies.add(performance.now() - sent)
  }
  for (let n = 0; n < until.count && !failed.signal.aborted && until.signal?.aborted !== true; n++) {
    const due = begun + (n * 1000) / perSecond
    const pause = due - performance.now()
    if (pause > 0) await setTimeout(pause)
    const published = publish(n)
    // The rejection is handled when all are awaited; until then it only ends the loop.
    published.catch(() => failed.abort())
    open.push(published)
  }
  await Promise.all(open)
  return latencies
}

/** Fills a node with a number of small events. */
export async function fill(
  target: Target,
  count: number,
  tag: string,
  progress: (done: number) => void,
): Promise<void> {
  const batch = 5000
  for (let first = 0; first < count; first += batch) {
    const data = Array.from({ length: Math.min(batch, count - first) }, (_, i) => ({
      tags: [tag, `${tag}:${(first + i) % 1000}`],
      payload: { n: first + i, text: 'some text of a usual length, as events have it' },
    }))
    await textOf(await post(target, 'publish', { data }))
    progress(first + data.length)
  }
}
