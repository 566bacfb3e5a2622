import assert from 'node:assert/strict'
import { hostileFaults } from '../faults/hostile.ts'
import { faultsOf } from '../faults/index.ts'
import { limitedStreams } from '../sim-retention.ts'
import type { Swarm } from '../swarm.ts'

/** With these a node has a reason not to trust its clock. */
const excuses: ReadonlySet<string> = new Set(['clock-skew', ...hostileFaults.map(({ name }) => name)])
/** A change of the clock shortly before one of these may be a long stop. */
const starts: ReadonlySet<string> = new Set(['restarts', 'lost-foreign-events', 'old-copies', 'crashes'])

/** Nodes whose clocks are right have pruned what is beyond the limits: they had twice the longest age for it. */
export function checkRetention({ scenario, nodes, ledger, equivocators }: Swarm): void {
  const names = faultsOf(scenario)
  const isClockLost = names.includes('clock-jumps') && names.some((name) => starts.has(name))
  if (isClockLost || names.some((name) => excuses.has(name))) return
  for (const node of nodes) {
    if (node.retention.maxAgeMs === undefined || equivocators.has(node.id)) continue
    for (const number of limitedStreams) {
      const stream = node.streamId(number)
      const kept = ledger.payloads(stream).length - ledger.prunedOf(stream)
      assert.ok(kept <= 0, `${node.label} keeps ${kept} events of ${stream} beyond their age`)
    }
  }
}
