// `npm run sim`: swarms of whole nodes in virtual time, with messages that are lost, doubled, reordered, delayed and
// altered, partitions, restarts, wrong clocks, nodes that join and leave, and hostile nodes. All nodes have to end with
// the same events in the same order. Everything random comes from the seed.
//
// --seeds N --seed-from K    N seeds from K on
// --repeat M                 runs every Mth seed twice, which has to give the same trace
// --seed S                   one seed with its figures, twice unless `--repeat 0` is given
// --nodes, --publishes, --shape, --store, --signatures, --with FAULTS, --without FAULTS
//                            instead of what the seed says
// --stop-at-first            ends at the first failing seed
// --shrink                   makes the first failing scenario smaller, and prints the options that repeat it
// --coverage                 fails on branches of the rules that no seed reaches
// --bugs                     plants bugs in copies of the source, and fails unless each is found within the seeds
// --traffic                  counts messages and bytes of swarms without faults
import { parseArgs } from 'node:util'
import { coverageProblems, measureCoverage } from './sim/coverage.ts'
import { faultsOf } from './sim/faults/index.ts'
import { simulateWith } from './sim/plant-bug.ts'
import { plantedBugs } from './sim/planted-bugs.ts'
import { type Scenario, type Shape, scenarioOf, shapeNames } from './sim/scenario.ts'
import { commandLineOf, shrink } from './sim/shrink.ts'
import { measureTraffic, simulate, simulateTwice } from './sim/world.ts'

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    'seed-from': { type: 'string' },
    seed: { type: 'string' },
    repeat: { type: 'string' },
    nodes: { type: 'string' },
    publishes: { type: 'string' },
    shape: { type: 'string' },
    store: { type: 'string' },
    signatures: { type: 'string' },
    with: { type: 'string' },
    without: { type: 'string' },
    'stop-at-first': { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: false },
    coverage: { type: 'boolean', default: false },
    bugs: { type: 'boolean', default: false },
    traffic: { type: 'boolean', default: false },
  },
})
const isStoppedAtFirst = values['stop-at-first'] || values.shrink

if (values.traffic) await printTraffic()
else if (values.bugs) await findBugs()
else if (values.coverage) await printCoverage()
else await runSeeds()

async function runSeeds(): Promise<void> {
  const began = performance.now()
  const from = numberOf('seed-from') ?? 1
  const count = numberOf('seeds') ?? 100
  const seeds = values.seed === undefined ? Array.from({ length: count }, (_, i) => String(from + i)) : [values.seed]
  const repeat = numberOf('repeat', 0) ?? (values.seed === undefined ? 0 : 1)
  let failed = 0
  for (const [i, seed] of seeds.entries()) {
    const isTwice = repeat > 0 && i % repeat === 0
    if (!(await runSeed(scenarioOf(seed, givenMembers()), isTwice))) failed++
    if (failed > 0 && isStoppedAtFirst) break
    if (process.stdout.isTTY) process.stdout.write(`\r${i + 1} of ${seeds.length}\r`)
  }
  const seconds = ((performance.now() - began) / 1000).toFixed(1)
  const megabytes = Math.round(process.resourceUsage().maxRSS / 1024)
  console.log(`${seeds.length} seeds, ${failed} failed, ${seconds} s, ${megabytes} MB`)
  process.exitCode = failed === 0 ? 0 : 1
}

/** Returns whether a scenario passes. */
async function runSeed(scenario: Scenario, isTwice: boolean): Promise<boolean> {
  try {
    const { traceHash, events, bytes, settledMs } = await (isTwice ? simulateTwice : simulate)(scenario)
    if (values.seed === undefined) return true
    const { seed, nodes, shape, store, signatures } = scenario
    console.log(`seed ${seed}: ${nodes} nodes, ${shape}, ${store}, ${signatures}; ${faultsOf(scenario).join(', ')}`)
    console.log(`${events} events, ${bytes} bytes, settled after ${settledMs} ms, trace ${traceHash}`)
    return true
  } catch (error) {
    console.error(`${commandLineOf(scenario)} fails: ${error instanceof Error ? error.stack : String(error)}`)
    if (values.shrink) console.error(`smallest: ${commandLineOf(await shrink(scenario, faultsOf(scenario)))}`)
    return false
  }
}

async function findBugs(): Promise<void> {
  for (const bug of plantedBugs) {
    const { isFound, output } = await simulateWith(bug, numberOf('seeds') ?? 500)
    const seed = /--seed (\S+)/.exec(output)?.[1]
    console.log(isFound ? `found with seed ${seed}: ${bug.name}` : `NOT FOUND: ${bug.name}`)
    if (!isFound) process.exitCode = 1
  }
}

async function printCoverage(): Promise<void> {
  const seeds = numberOf('seeds') ?? 2000
  const unreached = await measureCoverage(['--seeds', String(seeds), '--seed-from', values['seed-from'] ?? '1'])
  const problems = coverageProblems(unreached)
  for (const problem of problems) console.error(problem)
  console.log(`${seeds} seeds leave ${problems.length} branches unreached, besides the exceptions`)
  process.exitCode = problems.length === 0 ? 0 : 1
}

async function printTraffic(): Promise<void> {
  for (const nodes of [2, 20, 100])
    for (const shape of shapeNames) {
      const figures = await measureTraffic({ seed: 'traffic', nodes, shape }, 50)
      const texts = Object.entries(figures).map(([name, value]) => `${name} ${(value as number).toFixed(2)}`)
      console.log(`${nodes} nodes, ${shape}: ${texts.join(', ')}`)
    }
}

/** The members of a scenario that are given as options. */
function givenMembers(): Partial<Scenario> {
  const [nodes, publishes] = [numberOf('nodes'), numberOf('publishes')]
  return {
    ...(nodes !== undefined && { nodes }),
    ...(publishes !== undefined && { publishes }),
    ...(values.shape !== undefined && { shape: oneOf<Shape>('shape', shapeNames) }),
    ...(values.store !== undefined && { store: oneOf('store', ['memory', 'sqlite']) }),
    ...(values.signatures !== undefined && { signatures: oneOf('signatures', ['ed25519', 'stand-in']) }),
    with: values.with?.split(',') ?? [],
    without: values.without?.split(',') ?? [],
  }
}

function oneOf<T extends string>(name: 'shape' | 'store' | 'signatures', allowed: readonly T[]): T {
  const found = allowed.find((value) => value === values[name])
  if (found === undefined) throw new Error(`--${name} ${values[name]}: one of ${allowed.join(', ')}`)
  return found
}

function numberOf(name: 'seeds' | 'seed-from' | 'repeat' | 'nodes' | 'publishes', least = 1): number | undefined {
  if (values[name] === undefined) return undefined
  const value = Number(values[name])
  if (!Number.isSafeInteger(value) || value < least)
    throw new Error(`--${name} ${values[name]}: a number from ${least} on`)
  return value
}
