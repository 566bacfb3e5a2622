// `npm run diff:aql -- --reference URL [--queries N] [--seed S]`: differential test. Sends random queries over the same
// events to a fresh node and to a running reference node, and compares the responses, except diff-aql/exclusions.ts.
import { randomUUID } from 'node:crypto'
import { parseArgs } from 'node:util'
import type { TestEvent } from '../test/aql/eval/run.ts'
import * as fc from '../test/support/property.ts'
import { Random } from './crash/random.ts'
import { Comparison, type Difference } from './diff-aql/comparison.ts'
import { exclusions } from './diff-aql/exclusions.ts'
import { comparedEvents, generatedQueries } from './diff-aql/generated-query.ts'
import { Side } from './diff-aql/side.ts'
import { NodeProcess } from './node-process.ts'

const appId = 'com.example.test'
/** Queries per set of events. */
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
    throw new Error('--reference is missing: the URL of a running node, like http://localhost:4454')
  if (!Number.isSafeInteger(queries) || queries < 1)
    throw new Error(`--queries ${values.queries}: expected a positive integer`)
  return { reference: values.reference.replace(/\/$/, ''), queries, seed: values.seed }
}

/** Compares the responses to generated queries. Returns the first difference, shrunk to the smallest query. */
async function round(comparison: Comparison, count: number, seed: number): Promise<Difference | undefined> {
  let lost: unknown
  const property = fc.asyncProperty(generatedQueries, async (generated) => {
    // A node that stopped responding cannot help to shrink the query.
    if (lost !== undefined) return true
    try {
      return (await comparison.difference(generated)) === undefined
    } catch (thrown) {
      const text = JSON.stringify(generated, (_, part: unknown) => (typeof part === 'bigint' ? String(part) : part))
      lost = new Error(`no response to ${text}`, { cause: thrown })
      return true
    }
  })
  const { failed, counterexample } = await fc.check(property, { numRuns: count, seed })
  if (lost !== undefined) throw lost
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
    `${queries} queries with identical responses: ${values} values, ${diagnostics} diagnostics, ${refusals} rejections`,
  )
  console.log(`not compared: ${exclusions.map(({ rule, what }) => `${what} (${rule})`).join('; ')}`)
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
