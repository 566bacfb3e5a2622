import { parseArgs } from 'node:util'

export interface AttackArguments {
  /** Seconds per attack. */
  readonly seconds: number
  /** Names of the attacks; empty for all. */
  readonly only: readonly string[]
  /** `--max-old-space-size` of the node, in mebibytes. */
  readonly heap: number | undefined
  /** The limit of open files of the node. */
  readonly nofile: number | undefined
  /** The limit of a memory cgroup for the node, in mebibytes. */
  readonly cgroup: number | undefined
  /** `--memory-limit` of the node. */
  readonly memoryLimit: string | undefined
  readonly seed: string
  /** Whether an attack continues after the memory bound is exceeded, until the node ends or takes 4 GB. */
  readonly keepGoing: boolean
}

/** Default seconds per attack: all attacks together take less than 90. */
const defaultSeconds = 2
/** Overhead in seconds per attack: preparation, waiting for memory to be released, restart. */
export const overheadSeconds = 8

/** Parses the command line. Throws an error that says what is allowed. */
export function readArguments(args: readonly string[], names: readonly string[]): AttackArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seconds: { type: 'string' },
      minutes: { type: 'string' },
      only: { type: 'string' },
      heap: { type: 'string' },
      nofile: { type: 'string' },
      cgroup: { type: 'string' },
      'memory-limit': { type: 'string' },
      seed: { type: 'string' },
      'keep-going': { type: 'boolean', default: false },
    },
  })
  const only = values.only?.split(',') ?? []
  const unknown = only.find((name) => !names.includes(name))
  if (unknown !== undefined) throw new Error(`--only: there is no attack '${unknown}'; there are ${names.join(', ')}`)
  const seconds = positive('--seconds', values.seconds)
  const minutes = positive('--minutes', values.minutes)
  if (seconds !== undefined && minutes !== undefined) throw new Error('--seconds or --minutes, not both')
  const count = only.length > 0 ? only.length : names.length
  return {
    seconds: seconds ?? (minutes === undefined ? defaultSeconds : secondsOf(minutes, count)),
    only,
    heap: positive('--heap', values.heap),
    nofile: positive('--nofile', values.nofile),
    cgroup: positive('--cgroup', values.cgroup),
    memoryLimit: values['memory-limit'],
    seed: values.seed ?? String(Date.now()),
    keepGoing: values['keep-going'],
  }
}

/** Distributes a number of minutes over the attacks. */
function secondsOf(minutes: number, count: number): number {
  return Math.max(defaultSeconds, Math.floor((minutes * 60) / count - overheadSeconds))
}

function positive(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || number <= 0) throw new Error(`${option}: '${text}' is not a number above 0`)
  return number
}
