import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import type { SiteNode } from '../../../scripts/site/site-node.ts'
import { publishMany } from '../catching-up.ts'
import { addressOf, eventually, metrics, offsets, TestSite, untilConnected, untilSame } from '../swarm-of.ts'
import { wireSettings } from '../wire-peer.ts'
import { type Attack, capture } from './victim.ts'

const mostMemoryMb = 100
/** An event of an honest node may wait for a slice of verification, not for an attack. */
const mostLatencyMs = 10_000

const warmUpEvents = 10_000

interface HostileRun {
  /** One after the other. */
  readonly attacks: Readonly<Record<string, Attack>>
  /** Beside the others, because they wait for time-outs of the victim. */
  readonly stalls: Readonly<Record<string, Attack>>
}

/** Attacks a node while an honest one publishes: nothing is accepted, memory stays, and the honest events arrive. */
export async function attack(t: TestContext, { attacks, stalls }: HostileRun): Promise<void> {
  const machines = new TestSite(t, 2)
  const node = await machines.node(0, { settings: wireSettings() }).start()
  const honest = await machines.node(1, { settings: wireSettings([addressOf(node)]) }).start()
  await untilConnected(node, 1)
  // Memory at rest is that of a node that has worked: what its threads have loaded and compiled is no effect of attacks.
  await publishMany(honest, warmUpEvents)
  await untilSame([node, honest], warmUpEvents)
  const victim = { t, node, captured: await capture(t, node) }
  const memory = new MemoryWatch(node.pid)
  const traffic = new HonestTraffic(honest, node)
  const stalled = Object.entries(stalls).map(([name, work]) => ({ name, done: settled(work(victim)) }))
  for (const [name, work] of Object.entries(attacks)) {
    memory.begin(name)
    await machines.part(name, () => work(victim))
  }
  for (const { name, done } of stalled)
    await machines.part(name, async () => {
      const failure = await done
      if (failure !== undefined) throw failure
    })
  await machines.part('an honest peer is not affected', async () => {
    const { published, worstMs } = await traffic.stop()
    t.diagnostic(`${published} honest events, the slowest took ${Math.round(worstMs)} ms`)
    assert.ok(worstMs < mostLatencyMs, `an honest event took ${worstMs} ms`)
    await untilSame([node, honest], warmUpEvents + published)
    assert.ok(!node.log.includes(`disconnected from ${honest.id}`), 'the honest peer stays connected')
    assert.ok(!/frozen/.test(node.log), 'no honest stream is frozen')
  })
  await machines.part('memory stays within its limit, and attackers are kept out', async () => {
    const { grownMb, during } = memory.stop()
    t.diagnostic(`${Math.round(grownMb)} MB above idle at most, during ${during}`)
    assert.ok(grownMb < mostMemoryMb, `${grownMb} MB above idle`)
    assert.match(await metrics(node), /^shoal_swarm_kept_out_total\{.*\} [1-9]/m)
  })
}

/** The rejection of a promise that is awaited later. */
function settled(work: Promise<void>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** The largest resident memory of a process since the beginning, in MB above that, and the attack that led to it. */
class MemoryWatch {
  readonly #pid: number
  readonly #idle: number
  #most = 0
  #attack = ''
  #during = ''
  readonly #timer: NodeJS.Timeout

  constructor(pid: number) {
    this.#pid = pid
    this.#idle = this.#now()
    this.#timer = setInterval(() => {
      const now = this.#now()
      if (now > this.#most) [this.#most, this.#during] = [now, this.#attack]
    }, 50)
  }

  /** The next attack begins. */
  begin(attack: string): void {
    this.#attack = attack
  }

  stop(): { readonly grownMb: number; readonly during: string } {
    clearInterval(this.#timer)
    return { grownMb: this.#most - this.#idle, during: this.#during }
  }

  #now(): number {
    const [, kB] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${this.#pid}/status`, 'utf8')) ?? []
    return Number(kB) / 1024
  }
}

/** Publishes one event after the other, each when the one before has arrived. */
class HonestTraffic {
  #isStopped = false
  #worstMs = 0
  #published = 0
  readonly #done: Promise<unknown>

  constructor(from: SiteNode, to: SiteNode) {
    this.#done = settled(this.#run(from, to))
  }

  async stop(): Promise<{ readonly published: number; readonly worstMs: number }> {
    this.#isStopped = true
    const failure = await this.#done
    if (failure !== undefined) throw failure
    return { published: this.#published, worstMs: this.#worstMs }
  }

  async #run(from: SiteNode, to: SiteNode): Promise<void> {
    while (!this.#isStopped) {
      const start = performance.now()
      const [event] = await from.publish({ during: 'attacks' })
      this.#published++
      await eventually(
        async () =>
          ((await offsets(to)).present[event?.stream ?? ''] ?? -1) >= (event?.offset ?? 0) ? true : undefined,
        () => 'an honest event does not arrive',
      )
      this.#worstMs = Math.max(this.#worstMs, performance.now() - start)
    }
  }
}
