import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { EmptyStoreQuery, Figures, Profile } from './profile.ts'

/** A running node to measure. */
export interface Target {
  readonly name: string
  readonly url: string
  /** The command that measuring programs run in, such as `ip netns exec NAME`; may be empty. */
  readonly exec: readonly string[]
  readonly pid?: string
  readonly data?: string
}

/** Parses `NAME=URL[,PID[,DATA-FOLDER]]`. */
export function parseOther(text: string, exec: readonly string[]): Target {
  const [, name, url, pid, data] = /^([^=,]+)=(https?:\/\/[^,]+)(?:,(\d+)?(?:,(.+))?)?$/.exec(text) ?? []
  if (name === undefined || url === undefined)
    throw new Error(`--other ${text}: NAME=URL[,PID[,DATA-FOLDER]], such as ax=http://127.0.0.1:4454,1234`)
  return { name, url, exec, ...(pid !== undefined && { pid }), ...(data !== undefined && { data }) }
}

export interface RunOptions {
  readonly events: number
  readonly isUnique: boolean
  readonly isQuick: boolean
}

/** Runs the measuring program of a profile once. */
export async function measure(profile: Profile, target: Target, options: RunOptions): Promise<Figures> {
  const { name, url, pid, data } = target
  const args = ['--url', url, '--name', name, '--events', String(options.events)]
  if (options.isUnique) args.push('--unique')
  if (options.isQuick) args.push('--quick')
  if (data !== undefined && profile.measuresDisk) args.push('--data', data)
  if (pid !== undefined) args.push('--pid', pid)
  const figures = await run(target, join('..', profile.program), args)
  return Object.fromEntries(
    Object.entries(figures as Record<string, unknown>)
      .filter(([, value]) => typeof value === 'number' || value === null)
      .map(([figure, value]) => [figure, typeof value === 'number' ? value : Number.NaN]),
  )
}

/** The milliseconds of each of `times` runs of a query, after some that are not counted. */
export async function queryTimes(
  target: Target,
  { query, order }: EmptyStoreQuery,
  { times, uncounted }: { readonly times: number; readonly uncounted: number },
): Promise<number[]> {
  const args = [target.url, query, order, String(times), String(uncounted)]
  return (await run(target, 'query-times.ts', args)) as number[]
}

/** Runs a program in this folder where the node can be reached. It prints JSON. */
async function run({ exec }: Target, program: string, args: readonly string[]): Promise<unknown> {
  const [command = '', ...rest] = [...exec, process.execPath, join(import.meta.dirname, program), ...args]
  const { stdout } = await promisify(execFile)(command, rest, { maxBuffer: 2 ** 26 })
  return JSON.parse(stdout)
}
