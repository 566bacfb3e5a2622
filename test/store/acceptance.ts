import { test } from 'node:test'
import { adopting } from './acceptance/adopting.ts'
import { announcing } from './acceptance/announcing.ts'
import { appending } from './acceptance/appending.ts'
import { sizing } from './acceptance/chunk-sizes.ts'
import { endingChunksEarly } from './acceptance/early-checkpoints.ts'
import { forgetting } from './acceptance/forgetting.ts'
import { forking } from './acceptance/forking.ts'
import { tabulating } from './acceptance/head-table.ts'
import { refusingChunks } from './acceptance/hostile-chunks.ts'
import { importing } from './acceptance/importing.ts'
import { holdingOwnRecords } from './acceptance/own-records.ts'
import { pruning } from './acceptance/pruning.ts'
import { querying } from './acceptance/querying.ts'
import { reading } from './acceptance/reading.ts'
import { readingRecords } from './acceptance/reading-records.ts'
import { receiving } from './acceptance/receiving.ts'
import { receivingTogether } from './acceptance/receiving-together.ts'
import { redacting } from './acceptance/redacting.ts'
import { applyingRedactions } from './acceptance/redaction-records.ts'
import { replicating } from './acceptance/replicating.ts'
import { serving } from './acceptance/serving.ts'
import { limitingStreams } from './acceptance/stream-limits.ts'
import { subscribing } from './acceptance/subscribing.ts'
import type { OpenStore } from './acceptance/support.ts'

export type { OpenOptions, OpenStore } from './acceptance/support.ts'

const pruned = [...pruning, ...endingChunksEarly]
const others = [
  appending,
  importing,
  reading,
  receiving,
  receivingTogether,
  refusingChunks,
  forking,
  adopting,
  pruned,
  redacting,
  serving,
  tabulating,
  announcing,
  applyingRedactions,
  holdingOwnRecords,
  readingRecords,
  replicating,
  sizing,
  limitingStreams,
  forgetting,
].flat()
const jobs = [querying, subscribing].flat()
const exchange = [
  receiving,
  receivingTogether,
  refusingChunks,
  forking,
  adopting,
  serving,
  tabulating,
  announcing,
  applyingRedactions,
  readingRecords,
  replicating,
].flat()
const all = [...others, ...jobs]
const groups = {
  all,
  large: all.filter(({ large }) => large),
  jobs,
  exchange,
  /** All rules but those of `exchange`. */
  others: all.filter((rule) => !exchange.includes(rule)),
}

/** The rules that every implementation of `EventStore` has to keep: all of them, or a group. */
export function acceptanceSuite(name: string, open: OpenStore, which: keyof typeof groups = 'all'): void {
  for (const { name: rule, check } of groups[which]) test(`${name}: ${rule}`, (t) => check(t, open))
}
