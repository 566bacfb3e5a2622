import { existsSync } from 'node:fs'
import type { Order } from '../../aql/index.ts'
import { ShoalError } from '../../base/errors.ts'
import { queryOfflineLog } from '../../events/query/offline-query.ts'
import type { PublicKey } from '../../identity/index.ts'
import { systemClock } from '../../runtime/clock.ts'
import { Settings } from '../../settings/index.ts'
import { checkWal, DataFolder, NodeDatabase, openOfflineLog, topicFile } from '../../store/index.ts'
import { localApp, writeResults } from './aql-results.ts'

/** Runs a query on the data folder of a stopped node, like its query endpoint. Returns whether it is complete. */
export function queryDataFolder(query: string, folder: string, order: Order): Promise<boolean> {
  return withTopic(folder, async (file, own) => {
    const reader = openOfflineLog(file, own, systemClock)
    try {
      return await writeResults(queryOfflineLog(reader, { query, appId: localApp, order }, systemClock))
    } finally {
      reader.close()
    }
  })
}

async function withTopic<T>(
  folder: string,
  work: (file: string, own: PublicKey | undefined) => Promise<T>,
): Promise<T> {
  const opened = DataFolder.open(folder, { create: false })
  try {
    const database = NodeDatabase.open(opened.nodeDatabase)
    try {
      const { topic } = (await Settings.open(database.settings, systemClock, () => {})).document.swarm
      const file = topicFile(opened.path, topic)
      if (!existsSync(file))
        throw new ShoalError('ERR_INVALID_INPUT', `There are no events of the topic '${topic}' in \`${opened.path}\`.`)
      const damage = checkWal(file, { keep: false })
      if (damage !== undefined) process.stderr.write(`Warning: ${damage.text}\n`)
      return await work(file, database.publicKey)
    } finally {
      database.close()
    }
  } finally {
    opened.close()
  }
}
