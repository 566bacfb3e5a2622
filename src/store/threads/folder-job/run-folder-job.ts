import { ShoalError } from '../../../base/errors.ts'
import { threadModule } from '../../../runtime/thread-module.ts'
import type { FolderProgress } from '../../folder/folder-progress.ts'
import type { Verified } from '../../folder/verify-folder.ts'
import { spawn } from '../spawn.ts'
import { fromMessage } from '../thread-messages.ts'
import type { FolderJobData, FolderJobResult, FromFolderJob } from './folder-job-thread.ts'

/** A job on the topics of a data folder that may be in use. */
export interface FolderJob<T> {
  readonly result: Promise<T>
  /** Ends the thread of the job; the result is rejected. */
  cancel(): void
}

/** Verifies all topics. Freed slots of blocks must not be reused meanwhile. */
export function verifyInThread(folder: string, node: string, progress: FolderProgress): FolderJob<Verified> {
  return runJob({ job: 'verify', folder, node }, progress) as FolderJob<Verified>
}

/** Copies all topics into a new folder. Freed slots of blocks must not be reused meanwhile. */
export function backUpInThread(
  { folder, target, now }: { readonly folder: string; readonly target: string; readonly now: number },
  progress: FolderProgress,
): FolderJob<{ readonly topics: number }> {
  return runJob({ job: 'backup', folder, target, now }, progress) as FolderJob<{ readonly topics: number }>
}

function runJob(data: FolderJobData, progress: FolderProgress): FolderJob<FolderJobResult> {
  const worker = spawn(threadModule('folder-job-thread', import.meta.url), data)
  const { promise, resolve, reject } = Promise.withResolvers<FolderJobResult>()
  worker.on('message', (message: FromFolderJob) => {
    if ('step' in message) progress(message.step)
    else if ('result' in message) resolve(message.result)
    else reject(fromMessage(message.error))
  })
  worker.once('error', reject)
  worker.once('exit', () => reject(new ShoalError('ERR_INTERNAL_ERROR', 'the thread of the job has ended')))
  const end = async (): Promise<void> => void (await worker.terminate())
  return { result: promise.finally(end), cancel: () => void end() }
}
