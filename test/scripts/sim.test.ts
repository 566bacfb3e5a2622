import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plantedBugs, simulateWith } from '../../scripts/sim/planted-bugs.ts'
import { World } from '../../scripts/sim/world.ts'

const scenario = { faults: true, publishMs: 30_000, publishes: 30 } as const

test('a seed gives the same trace twice, another seed gives another one', async () => {
  const traceOf = async (seed: string): Promise<string> =>
    (await new World({ ...scenario, seed, nodes: 4 }).run()).traceHash
  const first = await traceOf('1')
  assert.equal(await traceOf('1'), first)
  assert.notEqual(await traceOf('2'), first)
})

for (const shape of ['mesh', 'line', 'star', 'halves'] as const)
  test(`20 nodes, ${shape}: an event reaches every other node with at most 1.3 messages each`, async () => {
    const world = new World({ ...scenario, faults: false, seed: shape, nodes: 20, shape })
    const { pushesPerEvent } = await world.measureTraffic(20)
    assert.ok(pushesPerEvent >= 0.9 && pushesPerEvent <= 1.3, String(pushesPerEvent))
  })

for (const bug of plantedBugs.slice(0, 3))
  test(`the simulator finds ${bug.name}`, async () => {
    const { isFound, output } = await simulateWith(bug, 100)
    assert.ok(isFound, output)
  })

test('every planted bug fits the source', async () => {
  for (const bug of plantedBugs)
    await assert.rejects(simulateWith({ ...bug, find: `${bug.find} or not` }, 1), /no longer fits/)
})
