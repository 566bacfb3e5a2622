import { Random } from '../../crash/random.ts'
import type { Scenario } from '../scenario.ts'
import type { Swarm } from '../swarm.ts'
import { copyFaults } from './copies.ts'
import type { Fault } from './fault.ts'
import { hostileFaults } from './hostile.ts'
import { linkFaults } from './links.ts'
import { messageFaults } from './messages.ts'
import { nodeFaults } from './nodes.ts'
import { removalFaults } from './removals.ts'

export const faults: readonly Fault[] = [
  ...messageFaults,
  ...linkFaults,
  ...nodeFaults,
  ...copyFaults,
  ...removalFaults,
  ...hostileFaults,
]

/** The names of the faults of a scenario. */
export function faultsOf(scenario: Scenario): string[] {
  return chosen(scenario).map(({ fault: { name } }) => name)
}

export function planFaults(swarm: Swarm): void {
  for (const { fault, random } of chosen(swarm.scenario)) fault.plan(swarm, random)
}

function chosen(scenario: Scenario): { readonly fault: Fault; readonly random: Random }[] {
  const names = new Set(faults.map(({ name }) => name))
  for (const name of [...scenario.with, ...scenario.without])
    if (!names.has(name)) throw new Error(`There is no fault '${name}'. There are: ${[...names].join(', ')}.`)
  return faults.flatMap((fault) => {
    const random = new Random(`${scenario.seed} fault ${fault.name}`)
    const isChosen = random.chance(fault.share) && scenario.faults && !scenario.without.includes(fault.name)
    return isChosen || scenario.with.includes(fault.name) ? [{ fault, random }] : []
  })
}
