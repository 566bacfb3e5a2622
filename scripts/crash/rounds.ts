import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { tuning } from '../../src/base/tuning.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { type Checked, check } from './check.ts'
import { Ledger } from './ledger.ts'
import type { Job, Mood, Report } from './messages.ts'
import { Problems } from './problems.ts'
import { Random } from './random.ts'
import { type Life, VictimProcess } from './victim-process.ts'

export interface RunOptions {
  readonly kills: number
  readonly seed: string
  /** An existing empty folder for the stores. */
  readonly folder: string
  readonly progress?: (summary: Summary) => void
}

/** The result of a run. */
export interface Summary {
  kills: number
  stores: number
  /** Acknowledgements of the stores. */
  acknowledged: { requests: number; events: number; prunes: number; redactions: number; seals: number }
  /** Requests that were stored but not acknowledged. */
  unanswered: number
  /** Compared events. */
  compared: number
  /** Segments of the stores at their last kill. */
  segments: number
  /** The operations that were interrupted by a kill; often several at once. */
  during: { making: number; open: number; append: number; seal: number; prune: number; redact: number }
  readonly problems: Problems
  /** Copies of the stores with problems. */
  readonly kept: string[]
}

/** The time of the kill after the store was opened, in milliseconds; a few victims live longer. */
const killMs = {
  mixed: { from: 0, within: 300 },
  heavy: { from: 100, within: 600 },
  quiet: { from: 200, within: 300 },
} as const
const longLife = { share: 0.1, times: 3 }
/** The number of kills between two full checks. There is also one at the end of a store. */
const fullEvery = 10
/** The share of kills while the store opens, or while it is created. */
const openShare = 0.15
const makingShare = 0.5
const moodShares = { quiet: 0.1, heavy: 0.1 }
/** The average number of kills per store. */
const killsPerStore = 20
const failuresAtMost = 10
const killsToExpectAnswers = 20

const topic = 'crash'
const fileName = 'log.db'

/** Concurrent stores: while one is checked, the other one is written to. */
const lanes = 2

export async function run({ kills, seed, folder, progress }: RunOptions): Promise<Summary> {
  const summary: Summary = {
    kills: 0,
    stores: 0,
    acknowledged: { requests: 0, events: 0, prunes: 0, redactions: 0, seals: 0 },
    unanswered: 0,
    compared: 0,
    segments: 0,
    during: { making: 0, open: 0, append: 0, seal: 0, prune: 0, redact: 0 },
    problems: new Problems(),
    kept: [],
  }
  const cache = join(folder, 'cache')
  const key = KeyPair.generate(systemRandom)
  await fillCache(cache, key, folder)
  await Promise.all(
    Array.from({ length: Math.min(lanes, kills) }, async (_, number) => {
      const lane = new Lane({ number, seed, cache, key, folder: join(folder, `lane-${number}`), summary })
      await lane.run(Math.ceil((kills - number) / lanes), () => progress?.(summary))
    }),
  )
  rmSync(cache, { recursive: true, force: true })
  // A run without acknowledgements proves nothing.
  if (kills >= killsToExpectAnswers && summary.acknowledged.requests === 0)
    summary.problems.add('failed', 'nothing was acknowledged in any life')
  return summary
}

/** Fills the compile cache: a victim that exits normally writes it, a killed one does not. */
async function fillCache(cache: string, key: KeyPair, folder: string): Promise<void> {
  const first = join(folder, 'first')
  mkdirSync(first)
  const victim = new VictimProcess(cache)
  const job = { topic, privateKey: key.toPrivateText(), seed: '', life: 0, callers: 0, mood: 'quiet' } as const
  victim.give({ ...job, file: join(first, fileName), idle: true })
  await victim.opened()
  await victim.end()
  rmSync(first, { recursive: true })
}

interface Store {
  readonly folder: string
  readonly file: string
  readonly ledger: Ledger
  kills: number
}

interface LaneOptions {
  readonly number: number
  readonly seed: string
  readonly cache: string
  readonly key: KeyPair
  readonly folder: string
  /** Shared by all lanes. */
  readonly summary: Summary
}

/** Runs one life after the other, on one store after the other. */
class Lane {
  readonly #options: LaneOptions
  readonly #random: Random
  readonly #summary: Summary
  #store: Store
  #spare: VictimProcess | undefined
  #stores = 0
  #lives = 0
  /** Moving average of the time to open a store, in milliseconds. */
  #openMs = 200

  constructor(options: LaneOptions) {
    this.#options = options
    this.#summary = options.summary
    this.#random = new Random(`${options.seed}/lane/${options.number}`)
    mkdirSync(options.folder)
    this.#store = this.#newStore()
  }

  async run(kills: number, progress: () => void): Promise<void> {
    try {
      while (this.#lives < kills && this.#summary.kept.length < failuresAtMost) {
        await this.#round(kills)
        progress()
      }
    } finally {
      await this.#spare?.kill()
    }
  }

  #newStore(): Store {
    const folder = join(this.#options.folder, `store-${++this.#stores}`)
    mkdirSync(folder)
    return { folder, file: join(folder, fileName), ledger: new Ledger(this.#options.seed), kills: 0 }
  }

  #job(): Job {
    const mood = this.#mood()
    return {
      file: this.#store.file,
      topic,
      privateKey: this.#options.key.toPrivateText(),
      seed: this.#options.seed,
      life: this.#lives * lanes + this.#options.number,
      callers: mood === 'heavy' ? 4 : this.#random.pick([1, 4, 16, 32]),
      mood,
    }
  }

  #mood(): Mood {
    const share = this.#random.next()
    if (share < moodShares.quiet) return 'quiet'
    return share < moodShares.quiet + moodShares.heavy ? 'heavy' : 'mixed'
  }

  async #round(kills: number): Promise<void> {
    const store = this.#store
    const { ledger } = store
    const isNew = !existsSync(store.file)
    const { reports, early } = await this.#live(isNew ? makingShare : openShare)
    if (++this.#lives < kills) this.#spare = new VictimProcess(this.#options.cache)
    this.#summary.kills++
    if (store.kills++ === 0) this.#summary.stores++
    const problems = new Problems()
    if (early !== undefined) problems.add('failed', early)
    for (const report of reports) {
      ledger.take(report, problems)
      this.#countAnswer(report)
    }
    const opened = reports.length > 0
    this.#countKill(ledger, opened, isNew)
    const { settling } = ledger
    const last = this.#lives === kills || this.#random.chance(1 / killsPerStore)
    const { unsealedChunks } = this.#compare(store, last, problems)
    // With that many chunks waiting, a seal was in progress.
    if (opened && (settling || unsealedChunks >= tuning.chunksPerSeal)) this.#summary.during.seal++
    this.#summary.problems.addAll(problems)
    if (problems.total > 0) this.#keep(store, reports, problems)
    else if (last) rmSync(store.folder, { recursive: true })
    if (last || problems.total > 0) this.#store = this.#newStore()
  }

  /** One life of a victim: from its job to a kill at a random moment. */
  async #live(openShare: number): Promise<Life> {
    const victim = this.#spare ?? new VictimProcess(this.#options.cache)
    this.#spare = undefined
    const job = this.#job()
    const duringOpen = this.#random.chance(openShare)
    const times = this.#random.chance(longLife.share) ? longLife.times : 1
    const moment = this.#random.next()
    const start = performance.now()
    victim.give(job)
    if (duringOpen) await sleep(moment * this.#openMs)
    else {
      await victim.opened()
      // Adapts to the current speed of the machine.
      this.#openMs += (performance.now() - start - this.#openMs) / 8
      const { from, within } = killMs[job.mood]
      await sleep(from + moment * times * within)
    }
    return await victim.kill()
  }

  /** Checks a copy of the files, so that the next victim opens them as the kill has left them. */
  #compare(store: Store, last: boolean, problems: Problems): Checked {
    const full = last || store.kills % fullEvery === 0
    const file = copyOf(store.folder, join(this.#options.folder, 'copy'))
    const options = { file, topic, key: this.#options.key, ledger: store.ledger, random: this.#random }
    const checked = check({ ...options, full })
    problems.addAll(checked.problems)
    this.#summary.unanswered += checked.unanswered
    this.#summary.compared += checked.events
    if (!last) return checked
    this.#summary.segments += checked.segments
    const sealed = check({ ...options, full, seal: true })
    problems.addAll(sealed.problems)
    this.#summary.compared += sealed.events
    return checked
  }

  #countAnswer(report: Report): void {
    const { acknowledged } = this.#summary
    if (report.type === 'pruned') acknowledged.prunes++
    else if (report.type === 'redacted') acknowledged.redactions++
    else if (report.type === 'settled') acknowledged.seals++
    else if (report.type === 'appended') {
      acknowledged.requests++
      acknowledged.events += report.runs.reduce((sum, [, , count]) => sum + count, 0)
    }
  }

  #countKill(ledger: Ledger, opened: boolean, isNew: boolean): void {
    const { during } = this.#summary
    if (!opened) during.open++
    if (!opened && isNew) during.making++
    if (ledger.sent.size > 0) during.append++
    if (ledger.redacting.length > 0) during.redact++
    if (ledger.streams.values().some(({ pruning }) => pruning > 0)) during.prune++
  }

  /** Keeps evidence for debugging: the files as the kill has left them, the reports, the problems. */
  #keep({ folder }: Store, reports: readonly Report[], problems: Problems): void {
    this.#summary.kept.push(folder)
    writeFileSync(join(folder, 'reports.ndjson'), reports.map((report) => `${JSON.stringify(report)}\n`).join(''))
    writeFileSync(join(folder, 'problems.txt'), problems.texts.map((text) => `${text}\n`).join(''))
  }
}

/** Copies the files of a store, without the shared-memory file (`-shm`). */
function copyOf(folder: string, target: string): string {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target)
  for (const name of readdirSync(folder))
    if (!name.endsWith('-shm')) copyFileSync(join(folder, name), join(target, name))
  return join(target, fileName)
}
