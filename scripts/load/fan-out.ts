import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Latencies } from './latencies.ts'
import { publishAt } from './publishing.ts'
import type { FromSubscribers, SubscribersData } from './subscribers.ts'
import type { Target } from './target.ts'

export interface FanOut {
  readonly subscribers: number
  /** The number of them that never read. */
  readonly idle: number
  readonly publishes: number
  readonly perSecond: number
}

/** Publishes to subscribers, and waits until all that read have received everything, in order. */
export async function fanOut(target: Target, load: FanOut): Promise<Latencies> {
  const tag = 'fan-out'
  const { subscribers, idle, publishes: count, perSecond } = load
  const workerData: SubscribersData = { target, tag, reading: subscribers - idle, idle, count }
  const worker = new Worker(new URL('./subscribers.ts', import.meta.url), { workerData })
  try {
    await told(worker, 'ready')
    const done = told(worker, 'done')
    const [latencies] = await Promise.all([publishAt(target, perSecond, tag, { count }), done])
    return latencies
  } finally {
    await worker.terminate()
  }
}

/** The same with the baseline server. */
export async function bareFanOut(load: FanOut): Promise<Latencies> {
  const server = spawn(process.execPath, [join(import.meta.dirname, 'bare-fan-out.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  try {
    const [port] = (await once(server.stdout, 'data')) as [Buffer]
    return await fanOut({ url: `http://127.0.0.1:${Number(port)}`, token: 'none' }, load)
  } finally {
    server.stdin.end()
    await once(server, 'exit')
  }
}

async function told(worker: Worker, expected: FromSubscribers): Promise<void> {
  const message = await new Promise<FromSubscribers>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  if (message !== expected) throw new Error(typeof message === 'string' ? message : message.problem)
}
