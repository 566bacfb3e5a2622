import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { folderStats, type TopicStats } from '../../folder/folder-stats.ts'
import { type ErrorMessage, toMessage } from '../thread-messages.ts'

export interface StatsData {
  readonly folder: string
}

export type FromStats = { readonly stats: readonly TopicStats[] } | { readonly error: ErrorMessage }

/** A thread for one count of all topics, whose duration grows with their size: no other work has to wait for it. */
assert(parentPort !== null, 'statistics are counted in a worker thread')
try {
  const { folder } = workerData as StatsData
  parentPort.postMessage({ stats: folderStats(folder) } satisfies FromStats)
} catch (error) {
  parentPort.postMessage({ error: toMessage(error) } satisfies FromStats)
}
