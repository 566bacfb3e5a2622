import type { Scenario } from './scenario.ts'
import { simulate } from './world.ts'

/**
 * Makes a failing scenario smaller while it still fails: fewer nodes, fewer publishes, faults left out one by one.
 * @param isFailing for tests: whether a scenario fails
 */
export async function shrink(
  scenario: Scenario,
  faults: readonly string[],
  isFailing: (scenario: Scenario) => Promise<boolean> = fails,
): Promise<Scenario> {
  let smallest = scenario
  const attempt = async (change: Partial<Scenario>): Promise<boolean> => {
    const smaller = { ...smallest, ...change }
    if (!(await isFailing(smaller))) return false
    smallest = smaller
    return true
  }
  let isSmaller = true
  while (isSmaller) {
    isSmaller = false
    for (const fault of faults)
      if (!smallest.without.includes(fault))
        isSmaller = (await attempt({ without: [...smallest.without, fault] })) || isSmaller
    for (const publishes of smallerNumbers(smallest.publishes, 1))
      if (await attempt({ publishes })) {
        isSmaller = true
        break
      }
    for (const nodes of smallerNumbers(smallest.nodes, 2))
      if (await attempt({ nodes })) {
        isSmaller = true
        break
      }
  }
  return smallest
}

/** Numbers to try instead of a given one, the smallest first. */
function smallerNumbers(number: number, least: number): number[] {
  const tried = [least, Math.floor(number / 4), Math.floor(number / 2), Math.floor((3 * number) / 4), number - 1]
  return [...new Set(tried)].filter((other) => other >= least && other < number)
}

async function fails(scenario: Scenario): Promise<boolean> {
  try {
    await simulate(scenario)
    return false
  } catch {
    return true
  }
}

/** The options of `npm run sim` that repeat a scenario. */
export function commandLineOf({ seed, nodes, publishes, without, with: added, shape, store }: Scenario): string {
  const list = (name: string, values: readonly string[]): string =>
    values.length === 0 ? '' : ` --${name} ${values.join()}`
  const members = `--seed ${seed} --nodes ${nodes} --publishes ${publishes} --shape ${shape} --store ${store}`
  return `${members}${list('without', without)}${list('with', added)}`
}
