import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { faults } from '../../scripts/sim/faults/index.ts'
import { simulateWith, withBug } from '../../scripts/sim/plant-bug.ts'
import { plantedBugs } from '../../scripts/sim/planted-bugs.ts'
import { scenarioOf, shapeNames } from '../../scripts/sim/scenario.ts'
import { measureTraffic, simulate, simulateTwice } from '../../scripts/sim/world.ts'

for (const given of [{}, { store: 'sqlite' }, { signatures: 'ed25519' }] as const)
  test(`a seed gives the same trace twice, another seed gives another one (${JSON.stringify(given)})`, async () => {
    const first = await simulateTwice(scenarioOf('1', { ...given, nodes: 4, publishes: 20 }))
    const other = await simulate(scenarioOf('2', { ...given, nodes: 4, publishes: 20 }))
    assert.notEqual(first.traceHash, other.traceHash)
    assert.ok(first.events >= 20)
  })

for (const { name } of faults.filter(({ share }) => share > 0))
  test(`a swarm agrees after the fault ${name}`, async () => {
    const store = name === 'lost-foreign-events' ? 'sqlite' : 'memory'
    const scenario = scenarioOf('fault', { nodes: 4, publishes: 15, store, faults: false, with: [name] })
    const { events } = await simulate(scenario)
    assert.ok(events >= 15)
  })

test('an unknown fault is refused', async () => {
  await assert.rejects(simulate(scenarioOf('1', { with: ['rain'] })), /There is no fault 'rain'/)
})

for (const shape of shapeNames)
  test(`20 nodes, ${shape}: an event reaches every other node with at most 1.3 messages each`, async () => {
    const { pushesPerEvent } = await measureTraffic({ seed: shape, nodes: 20, shape }, 20)
    assert.ok(pushesPerEvent >= 0.9 && pushesPerEvent <= 1.3, String(pushesPerEvent))
  })

for (const bug of plantedBugs.slice(0, 3))
  test(`the simulator finds ${bug.name}`, async () => {
    const { isFound, output } = await simulateWith(bug, 100)
    assert.ok(isFound, output)
  })

test('every planted bug fits the source exactly once', () => {
  for (const bug of plantedBugs) {
    const source = readFileSync(join(import.meta.dirname, '../..', bug.file), 'utf8')
    assert.notEqual(withBug(source, bug), source, bug.name)
    assert.throws(() => withBug(source.replace(bug.find, ''), bug), /no longer fits/)
    assert.throws(() => withBug(source + source, bug), /no longer fits/)
  }
})
