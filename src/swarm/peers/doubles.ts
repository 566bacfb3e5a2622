import { limits } from '../../base/limits.ts'

export interface DoubleSession {
  readonly direction: 'inbound' | 'outbound'
  readonly since: number
}

/**
 * Which of two sessions of one peer stays: both nodes compute the same. `isHigher` says whether the own ID is the higher
 * one. When both nodes have dialled at the same time, the dial of the higher ID stays. A node only dials a peer when it
 * has no session with it, so a session that comes later than that, or in the same direction, replaces one that the peer
 * has lost already.
 */
export function replaces(newer: DoubleSession, older: DoubleSession, isHigher: boolean): boolean {
  if (newer.direction === older.direction) return true
  // Two dials at the same time end within the time limit of a dial; the other half is for the views of two nodes.
  if (newer.since - older.since > 2 * limits.dialMs) return true
  return newer.direction === (isHigher ? 'outbound' : 'inbound')
}
