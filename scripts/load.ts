// Load test of one node: it passes or fails. For comparing the speed of nodes there is bench/load.ts (`npm run bench`).
//
// `npm run load -- [--publishes N] [--events N] [--seconds S] [--strict] [--profile FOLDER]`: fails if an event is lost
// or duplicated or if memory grows; with --strict, also if it takes too long.
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { builtPackage } from './built-package.ts'
import { bareFanOut, type FanOut, fanOut } from './load/fan-out.ts'
import { logSizeOf, memoryOf, Peak } from './load/memory.ts'
import { fill, publishAt } from './load/publishing.ts'
import { readFully, readSlowly } from './load/reading.ts'
import type { Target } from './load/target.ts'
import { NodeProcess } from './node-process.ts'

const perSecond = 100
/** Megabytes that a node may take in addition to its idle memory. */
const moreMemory = 100
/** The maximum size of the write-ahead log in megabytes. */
const largestLog = 64

interface Arguments {
  readonly publishes: number
  readonly events: number
  readonly seconds: number
  readonly strict: boolean
  readonly profile: string | undefined
}

function readArguments(): Arguments {
  const { values } = parseArgs({
    options: {
      publishes: { type: 'string', default: '10000' },
      events: { type: 'string', default: '1000000' },
      seconds: { type: 'string', default: '60' },
      strict: { type: 'boolean', default: false },
      profile: { type: 'string' },
    },
  })
  const [publishes, events, seconds] = [Number(values.publishes), Number(values.events), Number(values.seconds)]
  if (![publishes, events, seconds].every(Number.isSafeInteger))
    throw new Error('--publishes, --events and --seconds are numbers')
  return { publishes, events, seconds, strict: values.strict, profile: values.profile }
}

const given = readArguments()

/** Prints a figure, and whether it is within its bound. */
function judge(name: string, value: number, bound: number, unit: string, isTime = false): void {
  const isWithin = value <= bound
  console.log(`${isWithin ? '✔' : '✖'} ${name}: ${value.toFixed(1)} ${unit}, at most ${bound.toFixed(1)}`)
  if (!isWithin && (!isTime || given.strict)) process.exitCode = 1
}

function progress(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${text} `)
}

async function started(): Promise<{ node: NodeProcess; target: Target }> {
  const profile = given.profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', given.profile]
  const node = await NodeProcess.start({ execArgv: profile, packageFolder: await builtPackage() })
  return { node, target: { url: node.url, token: await node.token('com.example.load') } }
}

async function manySubscribers(): Promise<void> {
  const load: FanOut = { subscribers: 200, idle: 50, publishes: given.publishes, perSecond }
  console.log(`\n${load.subscribers} subscribers, ${load.idle} of whom never read, ${load.publishes} publishes`)
  const bare = await bareFanOut(load)
  console.log(`  a bare server: ${bare}`)
  const { node, target } = await started()
  try {
    await setTimeout(2000)
    const atRest = await memoryOf(node)
    const peak = new Peak(() => memoryOf(node))
    const latencies = await fanOut(target, load)
    const most = await peak.end()
    console.log(`  shoal: ${latencies}; ${atRest.toFixed(0)} MB at rest`)
    console.log('✔ everybody who reads got every event once, in order')
    judge('memory', most - atRest, moreMemory, 'MB more than at rest')
    judge('publish p99', latencies.within(0.99) / bare.within(0.99), 3, '× a bare server', true)
  } finally {
    await node.stop()
  }
}

async function slowReader(node: NodeProcess, target: Target): Promise<void> {
  console.log(`\na reader of 1 MB/s over ${given.events} events, for ${given.seconds} s, and ${perSecond} publishes/s`)
  const stop = new AbortController()
  const before = await memoryOf(node)
  const [memory, log] = [new Peak(() => memoryOf(node)), new Peak(() => logSizeOf(node))]
  const publishing = publishAt(target, perSecond, 'meanwhile', { count: Number.POSITIVE_INFINITY, signal: stop.signal })
  const read = await readSlowly(target, "FROM 'load'", 1e6, given.seconds)
  stop.abort()
  const latencies = await publishing
  console.log(`  ${read.toFixed(0)} MB were read; publish ${latencies}`)
  judge('memory', (await memory.end()) - before, moreMemory, 'MB more than before')
  judge('write-ahead log', await log.end(), largestLog, 'MB')
}

async function subQueries(target: Target): Promise<void> {
  console.log(`\na sub-query for each of ${given.events} events`)
  const count = given.seconds * perSecond
  const alone = await publishAt(target, perSecond, 'alone', { count })
  const stop = new AbortController()
  const query = "FEATURES(subQuery) FROM 'load' SELECT (FROM 'load:7' LIMIT 1)"
  const reading = readFully(target, query, stop.signal)
  const beside = await publishAt(target, perSecond, 'beside', { count })
  stop.abort()
  const { first, bytes, isWhole } = await reading
  if (!first.startsWith('{"type":"event"')) throw new Error(`the query answered ${first}`)
  console.log(`  publish alone: ${alone}`)
  console.log(
    `  publish beside it: ${beside}; ${(bytes / 1e6).toFixed(0)} MB of answers${isWhole ? ', all of them' : ''}`,
  )
  judge('publish p99', beside.within(0.99) / alone.within(0.99), 2, '× alone', true)
}

await manySubscribers()
const { node, target } = await started()
try {
  await fill(target, given.events, 'load', (done) => progress(`${done} events`))
  await slowReader(node, target)
  await subQueries(target)
} finally {
  await node.stop()
}
