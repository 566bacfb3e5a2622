// `npm run bench:streams [-- --rounds N]`: how opening a store and short queries depend on the number of streams whose
// events are not sealed: 1,000 single events each, of up to 100 nodes. Every measurement is a process of its own, all
// numbers of streams in turn. Prints medians, their ratios to one stream, and which goals are missed.
import { cpus, tmpdir } from 'node:os'
import { parseArgs } from 'node:util'
import { median } from './start/statistics.ts'
import { interleave } from './store/measure.ts'
import { Workspace } from './store/workspace.ts'
import { buildStore, eventsPerStream, type StreamsStore } from './streams/building.ts'
import type { QueryResult } from './streams/query-process.ts'

const numbers = [1, 10, 100, 400]
const openingGoal = 3
const ratioGoal = 5

interface Query {
  readonly name: string
  readonly results: number
  readonly order: string
  text(store: StreamsStore): string
}

const queries: readonly Query[] = [
  { name: 'nothing', results: 0, order: 'asc', text: () => "FROM 'nobody has this tag'" },
  { name: 'ten of one stream', results: 10, order: 'asc', text: ({ rareTag }) => `FROM '${rareTag}'` },
  {
    name: 'last ten of all',
    results: 10,
    order: 'desc',
    text: () => 'FEATURES(limit) FROM allEvents ORDER DESC LIMIT 10',
  },
]

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '5' } } })
const rounds = Number(values.rounds)
if (!Number.isSafeInteger(rounds) || rounds < 1) throw new Error(`--rounds ${values.rounds}: a number from 1 on`)
const workspace = new Workspace()

async function measured(store: StreamsStore, query: Query): Promise<QueryResult> {
  const { file, key } = store
  const args = [file, key.toPrivateText(), query.text(store), query.order, String(query.results)]
  return (await workspace.run('../streams/query-process.ts', args)) as QueryResult
}

/** The results of all rounds by number of streams. */
async function measureAll(stores: readonly StreamsStore[], query: Query): Promise<Map<number, QueryResult[]>> {
  const results = new Map<number, QueryResult[]>(stores.map(({ streams }) => [streams, []]))
  const subjects = stores.map((store) => {
    const measure = async (): Promise<number> => {
      const result = await measured(store, query)
      results.get(store.streams)?.push(result)
      return result.firstMs
    }
    return [String(store.streams), measure] as const
  })
  await interleave(rounds, Object.fromEntries(subjects), 0)
  return results
}

interface Row {
  readonly name: string
  readonly unit: string
  readonly values: readonly number[]
  readonly goal: string
  readonly isMet: boolean | undefined
}

function row(name: string, unit: string, values: readonly number[], goal?: 'opening' | 'ratio'): Row {
  const [one = Number.NaN, most = Number.NaN] = [values[0], values.at(-1)]
  if (goal === 'opening') return { name, unit, values, goal: `≤ ${openingGoal} s`, isMet: most <= openingGoal }
  if (goal === 'ratio') return { name, unit, values, goal: `≤ ${ratioGoal} ×`, isMet: most / one <= ratioGoal }
  return { name, unit, values, goal: '', isMet: undefined }
}

function text({ name, unit, values, goal, isMet }: Row): string {
  const [one = Number.NaN] = values
  const cells = values.map(
    (value, i) => value.toFixed(2).padStart(9) + (i === 0 ? '' : ` ${(value / one).toFixed(1).padStart(6)} ×`),
  )
  const mark = isMet === undefined ? '' : isMet ? '✔' : '✘'
  return `${`${name}, ${unit}`.padEnd(32)}${cells.join('')}  ${goal.padEnd(6)} ${mark}`.trimEnd()
}

const stores: StreamsStore[] = []
for (const streams of numbers) stores.push(await buildStore(workspace, streams))
const rows: Row[] = []
const all = new Map<number, QueryResult[]>(numbers.map((streams) => [streams, []]))
for (const query of queries) {
  const results = await measureAll(stores, query)
  for (const [streams, list] of results) all.get(streams)?.push(...list)
  const medians = (figure: keyof QueryResult): number[] =>
    [...results.values()].map((list) => median(list.map((result) => result[figure])))
  rows.push(row(`${query.name}: first`, 'ms', medians('firstMs'), 'ratio'))
  rows.push(row(`${query.name}: repeated`, 'ms', medians('repeatedMs'), 'ratio'))
}
const overall = (figure: keyof QueryResult): number[] =>
  [...all.values()].map((list) => median(list.map((result) => result[figure])))
const opening = overall('openMs').map((ms) => ms / 1000)
const table = [row('opening the store', 's', opening, 'opening'), ...rows, row('memory', 'MB', overall('rssMb'))]
const missed = table.filter(({ isMet }) => isMet === false).length
const head = `${'streams'.padEnd(32)}${numbers.map((streams, i) => String(streams).padStart(9) + ' '.repeat(i === 0 ? 0 : 9)).join('')}  goal`
console.log(
  [
    `Unsealed tails of ${eventsPerStream} single events per stream, rounds: ${rounds}, ${cpus().length} CPUs, Node ${process.version}, files in ${tmpdir()}.`,
    'Medians, and their ratio to one stream. Goals are those of the largest number of streams.',
    '',
    head,
    ...table.map(text),
    '',
    missed === 0 ? 'No goal is missed.' : `Goals missed (✘): ${missed}.`,
  ].join('\n'),
)
