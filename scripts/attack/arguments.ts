import { parseArgs } from 'node:util'

export interface AttackArguments {
  /** Seconds that each attack lasts. */
  readonly seconds: number
  /** Names of the attacks; all of them when there are none. */
  readonly only: readonly string[]
  /** Mebibytes of the old generation of V8. */
  readonly heap: number | undefined
  /** How many files the node may have open. */
  readonly nofile: number | undefined
  /** Mebibytes of a memory cgroup for the node. */
  readonly cgroup: number | undefined
  /** What `--memory-limit` of `shoal run` gets. */
  readonly memoryLimit: string | undefined
  readonly seed: string
  /** Whether an attack goes on when the bar is broken, until the node ends or takes 4 GB. */
  readonly keepGoing: boolean
}

/** Seconds of an attack when nobody says otherwise: all of them together take less than 90. */
const defaultSeconds = 2
/** Seconds that pass around each attack: waiting for memory to be given back, restarts, preparations. */
export const overheadSeconds = 8

/** Reads the command line. Throws with what is allowed when something is wrong with it. */
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

/** The share of each attack in so many minutes. */
function secondsOf(minutes: number, count: number): number {
  return Math.max(defaultSeconds, Math.floor((minutes * 60) / count - overheadSeconds))
}

function positive(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (!/^\d+(\.\d+)?$/.test(text) || number <= 0) throw new Error(`${option}: '${text}' is not a number above 0`)
  return number
}
