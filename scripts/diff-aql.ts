// `npm run diff:aql -- --reference URL [--queries N] [--seed S]`: differential test. Runs random queries over the same
// events on a fresh node and on a running reference node, and compares the results. Known deviations are in
// diff-aql/left-out.ts.
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { TestEvent } from '../test/aql/eval/run.ts'
import * as fc from '../test/support/property.ts'
import { Random } from './crash/random.ts'
import { Comparison, type Difference } from './diff-aql/comparison.ts'
import { leftOut } from './diff-aql/left-out.ts'
import { comparedEvents, questions } from './diff-aql/question.ts'
import { Side } from './diff-aql/side.ts'
import { NodeProcess } from './node-process.ts'

const appId = 'com.example.test'
/** Queries over the same events. */
const perRound = 100

interface Arguments {
  readonly reference: string
  readonly queries: number
  readonly seed: string
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      reference: { type: 'string' },
      queries: { type: 'string', default: '20000' },
      seed: { type: 'string', default: String(Date.now()) },
    },
  })
  const queries = Number(values.queries)
  if (values.reference === undefined)
    throw new Error('--reference: the URL of a running node, as http://localhost:4454')
  if (!Number.isSafeInteger(queries) || queries < 1) throw new Error(`--queries ${values.queries}: a number from 1 on`)
  return { reference: values.reference.replace(/\/$/, ''), queries, seed: values.seed }
}

/** Runs a number of queries, or until results differ; then shrinks the query. */
async function round(comparison: Comparison, count: number, seed: number): Promise<Difference | undefined> {
  let gone: unknown
  const property = fc.asyncProperty(questions, async (question) => {
    // A node that has stopped responding cannot be asked smaller queries.
    if (gone !== undefined) return true
    try {
      return (await comparison.difference(question)) === undefined
    } catch (thrown) {
      const text = JSON.stringify(question, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
      gone = new Error(`no answer to ${text}`, { cause: thrown })
      return true
    }
  })
  const { failed, counterexample } = await fc.check(property, { numRuns: count, seed })
  if (gone !== undefined) throw gone
  const [smallest] = counterexample ?? []
  return failed && smallest !== undefined ? await comparison.difference(smallest) : undefined
}

function report({ request, ours, reference }: Difference, events: readonly TestEvent[]): void {
  console.log(`\n${request.endpoint} ${JSON.stringify(request.body)}`)
  for (const event of events) console.log(`  ${event.json} ${event.tags?.join(' ')}`)
  for (const [name, answer] of Object.entries({ ours, reference })) {
    console.log(`${name}: ${answer.status}`)
    for (const line of answer.lines) console.log(`  ${line}`)
  }
}

async function compare(ours: Side, reference: Side, { queries, seed }: Arguments): Promise<boolean> {
  const random = new Random(seed)
  for (let done = 0; done < queries; done += perRound) {
    const number = random.below(2 ** 31)
    const [events = []] = fc.sample(comparedEvents, { numRuns: 1, seed: number })
    const comparison = await Comparison.over(events, `run ${randomUUID()}`, ours, reference)
    const difference = await round(comparison, Math.min(perRound, queries - done), number)
    if (difference !== undefined) {
      report(difference, events)
      return false
    }
    if (process.stdout.isTTY) process.stdout.write(`\r${done} queries `)
  }
  const { values, diagnostics, refusals } = ours.said
  console.log(
    `${queries} queries, all answered the same: ${values} values, ${diagnostics} diagnostics, ${refusals} refusals`,
  )
  console.log(`not compared: ${leftOut.map(({ rule, what }) => `${what} (${rule})`).join('; ')}`)
  return true
}

const given = readArguments()
console.log(`seed ${given.seed}`)
const node = await NodeProcess.start()
try {
  const ours = await Side.open(node.url, appId)
  if (!(await compare(ours, await Side.open(given.reference, appId), given))) process.exitCode = 1
} finally {
  await node.stop()
}
