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
  /** A folder for the stores, which is there and empty. */
  readonly folder: string
  readonly progress?: (summary: Summary) => void
}

/** What a run has shown. */
export interface Summary {
  kills: number
  stores: number
  /** Answers of the stores. */
  acknowledged: { requests: number; events: number; prunes: number; redactions: number; seals: number }
  /** Requests that were stored and not answered. */
  unanswered: number
  /** Events that were read and compared. */
  compared: number
  /** What was sealed of the stores when their last victims were killed. */
  segments: number
  /** What was under way at the moment of the kill; often several at once. */
  during: { making: number; open: number; append: number; seal: number; prune: number; redact: number }
  readonly problems: Problems
  /** Stores with problems, as they were when they were found. */
  readonly kept: string[]
}

/** From when on after the store has opened it is killed, and within which time, in milliseconds; a few live longer. */
const killMs = {
  mixed: { from: 0, within: 300 },
  heavy: { from: 100, within: 600 },
  quiet: { from: 200, within: 300 },
} as const
const longLife = { share: 0.1, times: 3 }
/** Every byte is read after this many kills, and at the end of a store. */
const fullEvery = 10
/** Of the lives, how many end while the store opens, or while it is made. */
const openShare = 0.15
const makingShare = 0.5
const moodShares = { quiet: 0.1, heavy: 0.1 }
/** After how many kills on average another store is begun. */
const killsPerStore = 20
const failuresAtMost = 10
const killsToExpectAnswers = 20

const topic = 'crash'
const fileName = 'log.db'

/** How many stores are written to and killed beside each other: while one is compared, the other one is written to. */
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
  // A victim that does nothing loses nothing, and shows nothing.
  if (kills >= killsToExpectAnswers && summary.acknowledged.requests === 0)
    summary.problems.add('failed', 'nothing was acknowledged in any life')
  return summary
}

/** A first victim that ends by itself leaves what was compiled to those after it. */
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
  /** Of all lanes together. */
  readonly summary: Summary
}

/** One life after the other, on one store after the other. */
class Lane {
  readonly #options: LaneOptions
  readonly #random: Random
  readonly #summary: Summary
  #store: Store
  #spare: VictimProcess | undefined
  #stores = 0
  #lives = 0
  /** How long opening a store takes here. */
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
    // So many are sealed at once: somebody is at it.
    if (opened && (settling || unsealedChunks >= tuning.chunksPerSeal)) this.#summary.during.seal++
    this.#summary.problems.addAll(problems)
    if (problems.total > 0) this.#keep(store, reports, problems)
    else if (last) rmSync(store.folder, { recursive: true })
    if (last || problems.total > 0) this.#store = this.#newStore()
  }

  /** One life of a victim, from its job to its end at a random moment. */
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
      // Follows what it takes on this machine, at this time.
      this.#openMs += (performance.now() - start - this.#openMs) / 8
      const { from, within } = killMs[job.mood]
      await sleep(from + moment * times * within)
    }
    return await victim.kill()
  }

  /** Looks at a copy of the files: the next victim finds them as the kill has left them. */
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

  /** For whoever looks into it: the files as the kill has left them, what the victim said, what is wrong. */
  #keep({ folder }: Store, reports: readonly Report[], problems: Problems): void {
    this.#summary.kept.push(folder)
    writeFileSync(join(folder, 'reports.ndjson'), reports.map((report) => `${JSON.stringify(report)}\n`).join(''))
    writeFileSync(join(folder, 'problems.txt'), problems.texts.map((text) => `${text}\n`).join(''))
  }
}

/** Copies the files of a store, without the shared memory of the dead. */
function copyOf(folder: string, target: string): string {
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target)
  for (const name of readdirSync(folder))
    if (!name.endsWith('-shm')) copyFileSync(join(folder, name), join(target, name))
  return join(target, fileName)
}
