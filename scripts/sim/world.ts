import { checkEnd, heldBy, settle } from './checks/agreement.ts'
import { checkDoubtfulStarts } from './checks/doubtful-start.ts'
import { checkFiles } from './checks/files.ts'
import { checkForkedPrefixes } from './checks/forked-prefix.ts'
import { checkIdle } from './checks/idle.ts'
import { checkNames } from './checks/names.ts'
import { checkRecords } from './checks/records.ts'
import { checkRetention } from './checks/retention.ts'
import { checkSessions } from './checks/sessions.ts'
import { planFaults } from './faults/index.ts'
import { type Scenario, scenarioOf } from './scenario.ts'
import { Swarm } from './swarm.ts'
import { firstDifference } from './trace.ts'
import { Workload } from './workload.ts'

export interface SimResult {
  readonly scenario: Scenario
  /** The hash of everything that happened: equal for two runs of a seed. */
  readonly traceHash: string
  /** The lines of the trace, if they are kept. */
  readonly trace: readonly string[] | undefined
  readonly events: number
  readonly bytes: number
  /** Virtual milliseconds from the last fault until all nodes agreed. */
  readonly settledMs: number
}

/** Runs a swarm in virtual time, with its faults, and checks it. Throws when a check fails. */
export async function simulate(scenario: Scenario, { keepTrace = false } = {}): Promise<SimResult> {
  const swarm = new Swarm(scenario, keepTrace)
  try {
    planFaults(swarm)
    checkSessions(swarm)
    checkDoubtfulStarts(swarm)
    swarm.connect()
    new Workload(swarm).plan()
    await swarm.agenda.runUntil(scenario.publishMs)
    const held = await heldBy(swarm)
    swarm.endFaults()
    const settledMs = await settle(swarm)
    await checkEnd(swarm, held)
    await checkForkedPrefixes(swarm)
    await checkNames(swarm)
    checkFiles(swarm)
    checkRetention(swarm)
    await checkRecords(swarm)
    const bytes = swarm.network.traffic.allBytes
    await checkIdle(swarm)
    const { digest: traceHash, lines: trace } = swarm.trace
    return { scenario, traceHash, trace, events: swarm.ledger.events, bytes, settledMs }
  } finally {
    await swarm.close()
  }
}

/** Runs a scenario twice. Throws, with the first event that differs, unless both runs are the same. */
export async function simulateTwice(scenario: Scenario): Promise<SimResult> {
  const { traceHash } = await simulate(scenario)
  const result = await simulate(scenario)
  if (traceHash === result.traceHash) return result
  // Traces take much memory, so they are only kept when they are needed.
  const [first, second] = [await simulate(scenario, { keepTrace: true }), await simulate(scenario, { keepTrace: true })]
  throw new Error(`two runs differ: ${firstDifference(first.trace ?? [], second.trace ?? [])}`)
}

/** Per node; of events per event that a node receives. */
export interface TrafficFigures {
  readonly idleBytesPerSecond: number
  readonly pushesPerEvent: number
  readonly messagesPerEvent: number
  readonly bytesPerEvent: number
}

/** Counts messages and bytes without faults: idle, and while single events are published. */
export async function measureTraffic(
  given: Pick<Scenario, 'seed' | 'nodes' | 'shape'>,
  events: number,
): Promise<TrafficFigures> {
  const scenario = scenarioOf(given.seed, { ...given, faults: false, clients: false, store: 'memory', publishes: 0 })
  const swarm = new Swarm(scenario, false)
  const { agenda, network } = swarm
  const { traffic } = network
  const { nodes } = scenario
  const random = swarm.random('traffic')
  const idleMs = 60_000
  swarm.connect()
  await agenda.runUntil(20_000)
  traffic.clear()
  await agenda.runUntil(20_000 + idleMs)
  const idle = traffic.allBytes / nodes / (idleMs / 1000)
  traffic.clear()
  for (let i = 0; i < events; i++) {
    await swarm.any(random).publishTo('app', [JSON.stringify({ id: i, text: 'x'.repeat(100) })])
    await agenda.runUntil(agenda.nowMs + 200)
  }
  const received = events * (nodes - 1)
  await swarm.close()
  return {
    idleBytesPerSecond: idle,
    pushesPerEvent: (traffic.messages.get('push') ?? 0) / received,
    messagesPerEvent: traffic.allMessages / received,
    bytesPerEvent: traffic.allBytes / received,
  }
}
