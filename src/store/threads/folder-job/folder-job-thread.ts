import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { tuning } from '../../../base/tuning.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { backupTopics } from '../../folder/backup-folder.ts'
import type { FolderStep } from '../../folder/folder-progress.ts'
import { type Verified, verifyTopics } from '../../folder/verify-folder.ts'
import { type ErrorMessage, toMessage } from '../thread-messages.ts'

export type FolderJobData =
  | { readonly job: 'verify'; readonly folder: string; readonly node: string }
  | { readonly job: 'backup'; readonly folder: string; readonly target: string; readonly now: number }

/** The result of verifying, or the number of topics in a backup. */
export type FolderJobResult = Verified | { readonly topics: number }

export type FromFolderJob =
  | { readonly step: FolderStep }
  | { readonly result: FolderJobResult }
  | { readonly error: ErrorMessage }

/** A thread for one job on all topics, whose duration grows with their size: no other work has to wait for it. */
const port = parentPort
assert(port !== null, 'a job runs in a worker thread')
let last = Number.NEGATIVE_INFINITY

function report(step: FolderStep): void {
  const now = systemClock.steadyMs()
  if (now - last < tuning.progressMs) return
  last = now
  port?.postMessage({ step } satisfies FromFolderJob)
}

function run(data: FolderJobData): FolderJobResult {
  const { folder } = data
  if (data.job === 'verify') return verifyTopics(folder, data.node, report, { isRunning: true })
  return { topics: backupTopics(folder, data.target, data.now, report) }
}

try {
  port.postMessage({ result: run(workerData as FolderJobData) } satisfies FromFolderJob)
} catch (error) {
  port.postMessage({ error: toMessage(error) } satisfies FromFolderJob)
}
