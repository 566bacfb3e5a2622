import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../../../base/assert.ts'
import { backupLog } from '../../sqlite/index.ts'
import { type ErrorMessage, toMessage } from '../thread-messages.ts'

export interface BackupData {
  readonly file: string
  readonly target: string
  readonly now: number
}

export type FromBackup = { readonly error?: ErrorMessage }

/** A thread for one backup, whose duration grows with the size of the log: no other work has to wait for it. */
assert(parentPort !== null, 'a backup runs in a worker thread')
try {
  const { file, target, now } = workerData as BackupData
  backupLog(file, target, now)
  parentPort.postMessage({} satisfies FromBackup)
} catch (error) {
  parentPort.postMessage({ error: toMessage(error) } satisfies FromBackup)
}
