import { threadModule } from '../../../runtime/thread-module.ts'
import { spawn } from '../spawn.ts'
import { fromMessage } from '../thread-messages.ts'
import type { BackupData, FromBackup } from './backup-thread.ts'

/** Copies a store into a new file, in a thread of its own. */
export async function backUp(data: BackupData): Promise<void> {
  const worker = spawn(threadModule('backup-thread', import.meta.url), data)
  const { error } = await new Promise<FromBackup>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  await worker.terminate()
  if (error !== undefined) throw fromMessage(error)
}
