import { parseArgs } from 'node:util'
import { bursts } from './bursts.ts'
import { everyday } from './everyday.ts'
import type { Profile } from './profile.ts'
import { parseOther, type RunOptions, type Target } from './target.ts'

const profiles = { bursts: [bursts], everyday: [everyday], both: [bursts, everyday] }

export interface LoadArguments extends RunOptions {
  readonly profiles: readonly Profile[]
  readonly rounds: number
  readonly others: readonly Target[]
}

export function readArguments(args: readonly string[]): LoadArguments {
  const { values } = parseArgs({
    args: [...args],
    options: {
      profile: { type: 'string', default: 'both' },
      events: { type: 'string' },
      rounds: { type: 'string', default: '5' },
      unique: { type: 'boolean', default: false },
      quick: { type: 'boolean', default: false },
      other: { type: 'string', multiple: true, default: [] },
      'other-exec': { type: 'string', default: '' },
    },
  })
  if (!Object.hasOwn(profiles, values.profile))
    throw new Error(`--profile ${values.profile}: one of ${Object.keys(profiles).join(', ')}`)
  const exec = values['other-exec'].split(/\s+/).filter((word) => word !== '')
  return {
    profiles: profiles[values.profile as keyof typeof profiles],
    events: positive('--events', values.events ?? (values.quick ? '20000' : '100000')),
    rounds: positive('--rounds', values.rounds),
    isUnique: values.unique,
    isQuick: values.quick,
    others: values.other.map((text) => parseOther(text, exec)),
  }
}

function positive(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`${option} ${text}: a number from 1 on`)
  return value
}
