import { threadModule } from '../../../runtime/thread-module.ts'
import type { TopicStats } from '../../folder/folder-stats.ts'
import { spawn } from '../spawn.ts'
import { fromMessage } from '../thread-messages.ts'
import type { FromStats, StatsData } from './stats-thread.ts'

/** The statistics of a data folder, which may be in use, counted in a thread of its own. */
export async function readStats(folder: string): Promise<readonly TopicStats[]> {
  const worker = spawn(threadModule('stats-thread', import.meta.url), { folder } satisfies StatsData)
  const answer = await new Promise<FromStats>((resolve, reject) => {
    worker.once('message', resolve)
    worker.once('error', reject)
  })
  await worker.terminate()
  if ('error' in answer) throw fromMessage(answer.error)
  return answer.stats
}
