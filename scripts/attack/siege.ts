import { setTimeout as delay } from 'node:timers/promises'
import { Random } from '../crash/random.ts'
import type { NodeProcess } from '../node-process.ts'
import { type Account, accountOf } from './account.ts'
import type { Assault, Attack } from './attack.ts'
import { AttackClock } from './attack-clock.ts'
import { BystanderProcess } from './bystander-process.ts'
import type { BystanderReport } from './bystander-report.ts'
import { cpuMsOf, MemoryWatch, memoryOf } from './memory-watch.ts'
import { Tally } from './tally.ts'
import { allowanceMb, type Findings, readyMs } from './verdict.ts'
import type { Victim } from './victim.ts'

/** Megabytes at which the node is killed, to protect the machine. */
const fatalMb = 4000
/** Megabytes above the bound at which an attack ends early: the verdict is clear. */
const clearlyBeyond = 1.25
/** Megabytes above the initial memory at which memory counts as released. */
const settledMb = 150
const settleMs = 5000

export interface SiegeOptions {
  readonly seconds: number
  readonly seed: string
  readonly keepGoing: boolean
}

export interface Siege {
  readonly tally: Tally
  readonly findings: Findings
  /** The account before and after. */
  readonly before: Account
  readonly after: Account | undefined
}

/** Runs one attack beside a bystander and measures. */
export async function besiege(attack: Attack, victim: Victim, options: SiegeOptions): Promise<Siege> {
  const { node } = victim
  await attack.prepare?.(victim)
  const before = await accountOf(node.url)
  const bystander = await BystanderProcess.start({
    url: node.url,
    token: await node.token('com.example.bystander'),
    queries: attack.takesAllStreams !== true,
    pauseMs: attack.bystanderPauseMs ?? 20,
  })
  const loggedBefore = errorsIn(node)
  const over = new AbortController()
  let isKilled = false
  const kill = (): void => {
    isKilled = true
    node.kill()
  }
  const farMb = (before.limitMb + allowanceMb) * clearlyBeyond
  const far = { megabytes: farMb, reached: () => options.keepGoing || over.abort() }
  const watch = new MemoryWatch({ pid: node.pid, far, fatal: { megabytes: fatalMb, reached: kill } })
  const tally = new Tally()
  const random = new Random(`${options.seed} ${attack.name}`)
  const clock = new AttackClock(attack.goal, tally, Math.max(options.seconds, attack.leastSeconds ?? 0) * 1000)
  const broken = await attackUntil(attack, { victim, tally, random, signal: over.signal }, over, () =>
    clock.isOver({ peakMb: watch.peak, cpuMs: cpuMsOf(node.pid) }),
  )
  const [readyAfterMs, report] = await Promise.all([untilReady(node), reportOf(bystander, node)])
  const afterMb = await settled(node, watch.before)
  const peakMb = watch.peak
  watch.end()
  // A process with much memory takes a moment to end.
  if (isKilled) await node.ended
  const findings: Findings = {
    ending: node.ending,
    isKilled,
    beforeMb: watch.before,
    peakMb,
    afterMb,
    readyAfterMs,
    bystander: report,
    broken,
    loggedErrors: errorsIn(node) - loggedBefore,
  }
  const after = node.isRunning ? await accountOf(node.url).catch(() => undefined) : undefined
  return { tally, findings, before, after }
}

/** Runs the attack until it has reached its goal. Returns the violations that it has observed. */
async function attackUntil(
  attack: Attack,
  assault: Assault,
  over: AbortController,
  isOver: () => boolean,
): Promise<string[]> {
  assault.victim.node.ended.then(() => over.abort())
  const timer = setInterval(() => isOver() && over.abort(), 50)
  try {
    await attack.run(assault)
    return attackerMistakes(assault.tally)
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)]
  } finally {
    clearInterval(timer)
    over.abort()
  }
}

/** Detects attacks that are refused because of a mistake of their own. */
function attackerMistakes(tally: Tally): string[] {
  const mistakes = tally.answersOf(/^(401|403|404|405|406|415)$/)
  if (mistakes > 0) return [`${mistakes} requests of the attacker had a mistake: ${tally.answers}`]
  return tally.connections === 0 ? ['the attacker got no connection at all'] : []
}

/** The report of the bystander; undefined if the node has ended. */
async function reportOf(bystander: BystanderProcess, node: NodeProcess): Promise<BystanderReport | undefined> {
  if (!node.isRunning) {
    bystander.kill()
    return undefined
  }
  return await bystander.end().catch(() => undefined)
}

/** Milliseconds until the node is ready, on a new connection; undefined after a timeout. */
async function untilReady(node: NodeProcess): Promise<number | undefined> {
  const begun = performance.now()
  while (node.isRunning) {
    const left = readyMs - (performance.now() - begun)
    if (left <= 0) return undefined
    const signal = AbortSignal.timeout(Math.ceil(left))
    const isReady = await fetch(`${node.url}/readyz`, { signal, headers: { connection: 'close' } }).then(
      (answer) => answer.text().then(() => answer.status === 200),
      () => false,
    )
    if (isReady) return performance.now() - begun
    await delay(50)
  }
  return undefined
}

/** The memory once it is near its initial value, or after five seconds. */
async function settled(node: NodeProcess, before: number): Promise<number> {
  const begun = performance.now()
  while (true) {
    const now = memoryOf(node.pid)?.resident ?? 0
    if (now <= before + settledMb || performance.now() - begun > settleMs) return now
    await delay(50)
  }
}

function errorsIn(node: NodeProcess): number {
  return node.log.split('\n').filter((line) => / ERROR /.test(line)).length
}
