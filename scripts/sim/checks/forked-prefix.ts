import assert from 'node:assert/strict'
import { nameOfStream, verifyEvidence } from '../../../src/replication/index.ts'
import { faultsOf } from '../faults/index.ts'
import { simTopic } from '../sim-store.ts'
import type { Swarm } from '../swarm.ts'

/** With these a node may be told that there are no events before a fork. */
const excuses: readonly string[] = ['slow-disks']

interface FrozenStream {
  readonly label: string
  readonly count: number
  /** The count up to which its evidence shows a common history. */
  readonly common: number
  hashAt(count: number): Promise<string | undefined>
}

/** Of a forked stream all nodes have the events before the fork, and they are the same. */
export async function checkForkedPrefixes(swarm: Swarm): Promise<void> {
  const isExcused = faultsOf(swarm.scenario).some((name) => excuses.includes(name))
  for (const copies of (await frozenStreams(swarm)).values()) {
    const common = Math.min(...copies.map((copy) => copy.common))
    const hashes = new Set<string>()
    for (const { label, count, hashAt } of copies) {
      if (!isExcused) assert.ok(count >= common, `${label} has ${count} of ${common} events before a fork`)
      const hash = count >= common ? await hashAt(common) : 'pruned'
      if (hash !== 'pruned') hashes.add(String(hash))
    }
    assert.ok(hashes.size <= 1, 'nodes have different events before a fork')
  }
}

async function frozenStreams({ nodes }: Swarm): Promise<Map<string, FrozenStream[]>> {
  const frozen = new Map<string, FrozenStream[]>()
  for (const { label, store } of nodes)
    for (const { number, key, count } of await store.streams()) {
      const record = await store.evidence(number)
      if (record === undefined) continue
      const common = verifyEvidence(record, { topic: simTopic, kind: 'live' }).common?.count ?? 0
      const name = nameOfStream(key)
      frozen.set(name, [
        ...(frozen.get(name) ?? []),
        { label, count, common, hashAt: (at) => store.hashAt(number, at) },
      ])
    }
  return frozen
}
