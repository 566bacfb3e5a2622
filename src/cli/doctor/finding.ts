import type { Facts } from './facts.ts'

export const checkNames = [
  'running',
  'access',
  'ports',
  'lock',
  'disk',
  'identity',
  'settings',
  'health',
  'clock',
  'swarm key',
  'topic',
  'peers',
  'replication',
  'apps',
  'exposure',
] as const

export type CheckName = (typeof checkNames)[number]

/** `error`: something does not work. `warning`: a risk. `note`: may be intended. */
export type Severity = 'error' | 'warning' | 'note'

export interface Finding {
  readonly check: CheckName
  readonly severity: Severity
  readonly problem: string
  /** Why it matters. */
  readonly why: string
  /** Commands to type. */
  readonly fix: readonly string[]
}

export type Check = (facts: Facts) => readonly Finding[]
