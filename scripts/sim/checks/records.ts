import assert from 'node:assert/strict'
import { format } from '../../../src/base/format.ts'
import { limits } from '../../../src/base/limits.ts'
import type { Swarm } from '../swarm.ts'

/** However many records a node signs, others keep at most one per event, and some for those to come. */
export async function checkRecords({ nodes }: Swarm): Promise<void> {
  for (const { label, store } of nodes)
    for (const { number, count } of await store.streams()) {
      let kept = 0
      for (let from: number | undefined = 0; from !== undefined; ) {
        const { redactions, next }: Awaited<ReturnType<typeof store.records>> = await store.records(number, from)
        kept += redactions.length
        from = next === undefined || next <= from ? undefined : next
      }
      const most = count + format.eventsPerChunk + limits.expectedRedactions
      assert.ok(kept <= most, `${label} keeps ${kept} records of a stream with ${count} events`)
    }
}
