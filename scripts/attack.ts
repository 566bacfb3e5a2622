// `npm run attack -- [--seconds N | --minutes N] [--only NAME,…] [--heap MB] [--nofile N] [--cgroup MB]
// [--memory-limit SIZE] [--seed S] [--keep-going]`: denial-of-service tests on a fresh node, while a well-behaved
// client (the bystander) uses it. The node must not end, must not take more memory than its account and 350 MB, and has
// to serve the bystander.
import type { AttackArguments } from './attack/arguments.ts'
import { readArguments } from './attack/arguments.ts'
import type { Attack } from './attack/attack.ts'
import { attacks } from './attack/attacks.ts'
import { MemoryCgroup } from './attack/cgroup.ts'
import { linesOf } from './attack/report.ts'
import { besiege, type Siege } from './attack/siege.ts'
import { allowanceMb, judge, mb } from './attack/verdict.ts'
import { Victim } from './attack/victim.ts'
import { builtPackage } from './built-package.ts'
import { NodeProcess } from './node-process.ts'

const given = readArguments(
  process.argv.slice(2),
  attacks.map(({ name }) => name),
)
const isConfined = given.heap !== undefined || given.nofile !== undefined || given.cgroup !== undefined

/** Starts a fresh node for each attack: memory that the allocator keeps would count for the next one. */
class Nodes {
  readonly #given: AttackArguments
  readonly #cgroup: MemoryCgroup | undefined
  readonly #packageFolder: string
  #current: Victim | undefined

  constructor(args: AttackArguments, cgroup: MemoryCgroup | undefined, packageFolder: string) {
    this.#packageFolder = packageFolder
    this.#given = args
    this.#cgroup = cgroup
  }

  async for(attack: Attack): Promise<Victim> {
    const nofile = this.#given.nofile ?? attack.nofile
    await this.discard()
    const { heap, memoryLimit } = this.#given
    const before = [
      ...(nofile === undefined ? [] : [`ulimit -n ${nofile}`]),
      ...(this.#cgroup === undefined ? [] : [this.#cgroup.entering]),
    ]
    const loopback = ['api', 'admin', 'swarm'].flatMap((name) => [`--bind-${name}`, '127.0.0.1:0'])
    const node = await NodeProcess.start({
      packageFolder: this.#packageFolder,
      options: [
        ...loopback,
        '--log-color',
        'off',
        ...(memoryLimit === undefined ? [] : ['--memory-limit', memoryLimit]),
      ],
      before,
      ...(heap !== undefined && { env: { NODE_OPTIONS: `--max-old-space-size=${heap}` } }),
    })
    const victim = await Victim.of(node)
    this.#current = victim
    return victim
  }

  /** Stops the current node, so that the next attack gets a new one. */
  async discard(): Promise<void> {
    const node = this.#current?.node
    this.#current = undefined
    if (node === undefined) return
    const timer = setTimeout(() => node.kill(), 5000)
    await node.stop()
    clearTimeout(timer)
  }
}

/** Prints the report. Returns whether the node has passed. */
function isPassed(attack: Attack, { tally, findings, before, after }: Siege): boolean {
  const problems = judge(findings, { accountMb: before.limitMb, emptyQueryMs: attack.emptyQueryMs, isConfined })
  const charged = after?.chargedMb === undefined ? '' : `, ${after.chargedMb.toFixed(1)} MB still charged`
  for (const line of linesOf(tally, findings, charged, problems)) console.log(line)
  if (problems.length > 0) process.exitCode = 1
  return problems.length === 0
}

/** The last warnings and errors in the log of a node that has ended. */
function lastWords({ log }: NodeProcess): string {
  const lines = log.split('\n').filter((line) => /ERROR|WARN/.test(line))
  return lines.slice(-8).join('\n')
}

async function attackAll(nodes: Nodes): Promise<void> {
  const chosen = attacks.filter(({ name }) => given.only.length === 0 || given.only.includes(name))
  let passed = 0
  let highest = 0
  for (const attack of chosen) {
    const victim = await nodes.for(attack)
    console.log(`\n${attack.name}: ${attack.description}`)
    const siege = await besiege(attack, victim, given)
    if (isPassed(attack, siege)) passed++
    // A node that failed must not affect the next attack.
    else await nodes.discard()
    highest = Math.max(highest, siege.findings.peakMb)
    if (siege.findings.ending !== undefined) console.log(lastWords(victim.node))
  }
  console.log(`\n${passed} of ${chosen.length} attacks were withstood; the highest peak was ${mb(highest)}`)
}

const cgroup = given.cgroup === undefined ? undefined : MemoryCgroup.make(given.cgroup)
if (given.cgroup !== undefined && cgroup === undefined) {
  console.log('LEFT OUT: no memory cgroup can be made here')
} else {
  console.log(`seed ${given.seed}, ${given.seconds} s an attack; the bar is the account and ${allowanceMb} MB`)
  const nodes = new Nodes(given, cgroup, await builtPackage())
  try {
    await attackAll(nodes)
  } finally {
    await nodes.discard()
    await cgroup?.remove()
  }
}
