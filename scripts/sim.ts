// `npm run sim [-- --seeds N] [--nodes M] [--seed-from K] [--seed S]`: runs swarms of whole nodes in virtual time, with
// messages that are lost, doubled, reordered, delayed and altered, partitions and restarts, and checks that all nodes
// end with the same events in the same order. Everything random comes from the seed: `--seed S` repeats a run.
// `--traffic` counts messages and bytes of swarms without faults instead. `--bugs` plants bugs in copies of the source,
// and fails unless each is found within the seeds. `--stop-at-first` ends the run at the first failing seed.
import { parseArgs } from 'node:util'
import { plantedBugs, simulateWith } from './sim/planted-bugs.ts'
import { World } from './sim/world.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    nodes: { type: 'string' },
    'seed-from': { type: 'string', default: '1' },
    seed: { type: 'string' },
    traffic: { type: 'boolean', default: false },
    'stop-at-first': { type: 'boolean', default: false },
    bugs: { type: 'boolean', default: false },
  },
})
const [seeds, from] = [wholeNumber('seeds'), wholeNumber('seed-from')]
const chosen = values.seed === undefined ? Array.from({ length: seeds }, (_, i) => String(from + i)) : [values.seed]
if (values.traffic) {
  await printTraffic()
  process.exit()
}
if (values.bugs) {
  for (const bug of plantedBugs) {
    const { isFound } = await simulateWith(bug, seeds)
    console.log(`${isFound ? 'found' : 'NOT FOUND'}: ${bug.name}`)
    if (!isFound) process.exitCode = 1
  }
  process.exit()
}
let failed = 0
for (const [i, seed] of chosen.entries()) {
  const nodes = values.nodes === undefined ? 3 + (hashOf(seed) % 8) : wholeNumber('nodes')
  try {
    const { traceHash, events, traffic, settledMs } = await new World({
      seed,
      nodes,
      faults: true,
      publishMs: 30_000,
      publishes: 40,
    }).run()
    if (values.seed !== undefined)
      console.log(
        `seed ${seed}: ${nodes} nodes, ${events} events, ${traffic.allBytes} bytes, settled after ${settledMs} ms, trace ${traceHash}`,
      )
  } catch (error) {
    failed++
    console.error(`--seed ${seed} --nodes ${nodes} fails: ${error instanceof Error ? error.stack : String(error)}`)
  }
  if (failed > 0 && values['stop-at-first']) break
  if (process.stdout.isTTY) process.stdout.write(`\r${i + 1} of ${chosen.length}`)
}
console.log(`${process.stdout.isTTY ? '\r' : ''}${chosen.length} seeds, ${failed} failed`)
process.exitCode = failed === 0 ? 0 : 1

async function printTraffic(): Promise<void> {
  for (const nodes of [2, 20, 100])
    for (const shape of ['mesh', 'line', 'star', 'halves'] as const) {
      const world = new World({ seed: 'traffic', nodes, shape, faults: false, publishMs: 0, publishes: 0 })
      const figures = await world.measureTraffic(50)
      const texts = Object.entries(figures).map(([name, value]) => `${name} ${(value as number).toFixed(2)}`)
      console.log(`${nodes} nodes, ${shape}: ${texts.join(', ')}`)
    }
}

function wholeNumber(name: 'seeds' | 'nodes' | 'seed-from'): number {
  const value = Number(values[name])
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} ${values[name]}: a number from 1 on`)
  return value
}

function hashOf(seed: string): number {
  return [...seed].reduce((hash, letter) => (hash * 31 + letter.charCodeAt(0)) % 1_000_003, 7)
}
