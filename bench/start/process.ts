import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Launch {
  /** The arguments of `node`. */
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Finds the port for /readyz in the output of the process. */
  readonly port: RegExp
}

/** A process that responded to /readyz with 200. Times are milliseconds of a clock that all processes share. */
export interface Running {
  readonly spawnedAt: number
  /** When the line with the port was read. */
  readonly boundAt: number
  readonly readyAt: number
  readonly output: () => string
  readonly memoryAtRest: () => Promise<Memory | undefined>
  readonly stop: () => Promise<void>
}

export interface Memory {
  readonly rssMb: number
  /** The anonymous part: heaps and stacks, without the pages of the node executable. */
  readonly anonymousMb: number
}

const startLimitMs = 30_000
const stopLimitMs = 5000
const retryMs = 2

const children = new Set<ChildProcess>()

/** The running processes, to be killed when this process ends. */
export function killAll(): void {
  for (const child of children) child.kill('SIGKILL')
}

export async function startAndWait({ args, env, port }: Launch): Promise<Running> {
  const spawnedAt = monotonic()
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  children.add(child)
  child.once('exit', () => children.delete(child))
  const output = collected(child)
  try {
    const number = await portOf(child, output, port)
    const boundAt = monotonic()
    await ready(number)
    const readyAt = monotonic()
    const { pid = 0 } = child
    return { spawnedAt, boundAt, readyAt, output, memoryAtRest: () => memoryAtRest(pid), stop: () => stop(child) }
  } catch (error) {
    await stop(child)
    throw new Error(`node ${args.join(' ')} did not get ready. It wrote:\n${output()}`, { cause: error })
  }
}

/** CLOCK_MONOTONIC, which is the same for all processes of the machine. */
function monotonic(): number {
  return Number(process.hrtime.bigint()) / 1e6
}

function collected(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  return () => text
}

function portOf(child: ChildProcess, output: () => string, pattern: RegExp): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('no port in time')), startLimitMs)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      reject(new Error(`it ended with ${code ?? signal}`))
    })
    const look = (): void => {
      const [, port] = pattern.exec(output()) ?? []
      if (port === undefined) return
      clearTimeout(timer)
      resolve(Number(port))
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
  })
}

async function ready(port: number): Promise<void> {
  for (const until = monotonic() + startLimitMs; monotonic() < until; await sleep(retryMs))
    if ((await statusOf(port)) === 200) return
  throw new Error('not ready in time')
}

function statusOf(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    get({ host: '127.0.0.1', port, path: '/readyz', agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode)
    }).on('error', () => resolve(undefined))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const ended = once(child, 'exit')
  // A graceful stop, because the compile cache is written on exit.
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), stopLimitMs)
  await ended
  clearTimeout(timer)
}

/** Waits until the memory has been stable for 300 ms, at most 3 s; undefined without /proc. */
async function memoryAtRest(pid: number): Promise<Memory | undefined> {
  let memory = memoryOf(pid)
  for (let samples = 0, same = 0; samples < 60 && same < 6; samples++) {
    await sleep(50)
    const now = memoryOf(pid)
    same = now?.rssMb === memory?.rssMb ? same + 1 : 0
    memory = now
  }
  return memory
}

function memoryOf(pid: number): Memory | undefined {
  let status: string
  try {
    status = readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return undefined
  }
  const megabytes = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+([0-9]+) kB`, 'm').exec(status)?.[1]) / 1024
  return { rssMb: megabytes('VmRSS'), anonymousMb: megabytes('RssAnon') }
}
