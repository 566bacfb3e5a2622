import assert from 'node:assert/strict'
import { hostileFaults } from '../faults/hostile.ts'
import { faultsOf } from '../faults/index.ts'
import type { Swarm } from '../swarm.ts'
import { areBlocksLost } from './files.ts'

/** With these, messages arrive late, or peers claim what they do not have. */
const excuses: ReadonlySet<string> = new Set(['slow-links', ...hostileFaults.map(({ name }) => name)])
/** Within this time answers to earlier messages have arrived. */
const calmMs = 12_000
const idleMs = 7000
const idleKinds: ReadonlySet<string> = new Set(['digest', 'ping', 'pong'])
/** A block that no node has any more is asked for now and then. */
const searchKinds: ReadonlySet<string> = new Set(['wantBlocks', 'blocksNotHere'])

/** A swarm that agrees only compares digests: no node asks for anything any more. */
export async function checkIdle(swarm: Swarm): Promise<void> {
  if (faultsOf(swarm.scenario).some((name) => excuses.has(name))) return
  const { agenda, network } = swarm
  await agenda.runUntil(agenda.nowMs + calmMs)
  network.traffic.clear()
  await agenda.runUntil(agenda.nowMs + idleMs)
  const isSearching = areBlocksLost(swarm)
  const isIdle = (kind: string): boolean => idleKinds.has(kind) || (isSearching && searchKinds.has(kind))
  const others = [...network.traffic.messages.keys()].filter((kind) => !isIdle(kind))
  assert.deepEqual(others, [], 'an idle swarm only sends digests and pings')
}
