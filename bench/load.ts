// `npm run bench [-- --profile bursts|everyday|both] [--events N] [--rounds N] [--unique] [--quick]
// [--other NAME=URL[,PID[,DATA-FOLDER]]]… [--other-exec "ip netns exec NAME"]`: runs load.mjs (bursts) and edge.mjs
// (everyday use) on a node of the built package and on the others, alternating, and prints the medians of their figures,
// the median and the worst of the ratios of all rounds, and which goals are missed. Goals are relative to the first
// other node. A short warm-up run comes first: nodes run for weeks. One round says little, because the speed of a
// machine varies by a factor of two from minute to minute.
import { cpus, tmpdir } from 'node:os'
import { builtPackage } from '../scripts/built-package.ts'
import { NodeProcess } from '../scripts/node-process.ts'
import { readArguments } from './load/arguments.ts'
import type { Figures, Profile } from './load/profile.ts'
import { table } from './load/table.ts'
import { measure, queryTimes, type Target } from './load/target.ts'
import { median } from './start/statistics.ts'

const warmUpEvents = 20_000
/** Fast like a node that has run for a while: an empty store must not get a handicap that makes its goals easier. */
const emptyStoreRuns = { uncounted: 300, times: 31 }

const given = readArguments(process.argv.slice(2))
const { profiles, events, rounds, others } = given
const progress = (text: string): void =>
  console.error(`${(performance.now() / 1000).toFixed(0).padStart(6)} s  ${text}`)

/** The median times of the queries of a profile while the store is empty. */
async function onEmptyStore(profile: Profile, target: Target): Promise<Figures> {
  const times: Record<string, number> = {}
  for (const [figure, query] of Object.entries(profile.emptyStoreQueries))
    times[figure] = median(await queryTimes(target, query, emptyStoreRuns))
  return times
}

async function oneRound(profile: Profile, target: Target, round: number): Promise<Figures> {
  const figures = await measure(profile, target, given)
  return profile.measuresDisk ? { ...withDiskPerEvent(figures, round), ...(await afterIdlePeriod(target)) } : figures
}

/** A query without results. The program has waited for the disk, and the best of ten leaves out the wake-up. */
async function afterIdlePeriod(target: Target): Promise<Figures> {
  const query = { query: "FROM 'nobody has this tag'", order: 'asc' } as const
  return { query_empty_ms: Math.min(...(await queryTimes(target, query, { uncounted: 0, times: 10 }))) }
}

/** Corrects the disk figures: the folder also contains the events of earlier rounds. */
function withDiskPerEvent(figures: Figures, round: number): Figures {
  const share = events / (warmUpEvents + events * (round + 1))
  const entries = Object.entries(figures)
  return Object.fromEntries(entries.map(([name, value]) => [name, name.startsWith('disk_') ? value * share : value]))
}

/** All rounds of a profile: in each, all nodes in turn, each time starting with another one. */
async function measureAll(profile: Profile, targets: readonly Target[]): Promise<Map<Target, Figures[]>> {
  const results = new Map<Target, Figures[]>(targets.map((target) => [target, []]))
  for (const target of targets) {
    progress(`${profile.name}: warm-up, ${target.name}`)
    await measure(profile, target, { ...given, events: warmUpEvents })
  }
  for (let round = 0; round < rounds; round++)
    for (let i = 0; i < targets.length; i++) {
      const target = targets[(round + i) % targets.length] as Target
      progress(`${profile.name}: round ${round + 1} of ${rounds}, ${target.name}`)
      results.get(target)?.push(await oneRound(profile, target, round))
    }
  return results
}

const node = await NodeProcess.start({ packageFolder: await builtPackage() })
try {
  const shoal: Target = { name: 'shoal', url: node.url, exec: [], data: node.folder, pid: String(node.pid) }
  console.log(
    `${events} events${given.isUnique ? ' with unique tags' : ''}${given.isQuick ? ', quick' : ''}, rounds: ${rounds}, ${cpus().length} CPUs, Node ${process.version}, shoal stores in ${tmpdir()}. ↑ more is better, ↓ less is better.`,
  )
  progress('queries of an empty store')
  const emptyStore = new Map<Profile, Figures>()
  for (const profile of profiles) emptyStore.set(profile, await onEmptyStore(profile, shoal))
  // One profile after the other: the events of everyday use would spoil the disk figures of bursts.
  for (const profile of profiles) {
    const results = await measureAll(profile, [shoal, ...others])
    const measured = {
      ours: results.get(shoal) ?? [],
      others: others.map((other) => ({ name: other.name, rounds: results.get(other) ?? [] })),
      emptyStore: emptyStore.get(profile) ?? {},
      goals: profile.goals(events),
    }
    console.log(`\n${profile.name} (${profile.program})\n${table(measured)}`)
  }
} finally {
  await node.stop()
}
