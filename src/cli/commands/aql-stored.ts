import { existsSync } from 'node:fs'
import type { Order } from '../../aql/index.ts'
import { ShoalError } from '../../errors.ts'
import { queryStopped } from '../../events/query/stopped.ts'
import type { PublicKey } from '../../identity/index.ts'
import { Settings } from '../../settings/index.ts'
import { DataFolder, NodeDatabase, readStopped, topicFile } from '../../store/index.ts'
import { readSource } from '../input.ts'
import { type Result, write } from '../output.ts'

/** Answers a query from the data folder of a stopped node, as its query endpoint would. */
export function runStoredQuery(argument: string, folder: string, order: Order): Result {
  const query = argument === '-' ? readSource('-') : argument
  const answer = (take: (lines: string) => void | Promise<void>): Promise<void> =>
    withTopic(folder, async (file, own) => {
      const reader = readStopped(file, own)
      try {
        for (const lines of queryStopped(reader, { query, appId: localApp, order })) await take(lines)
      } finally {
        reader.close()
      }
    })
  return {
    // As it comes: there may be more than fits into memory.
    text: async () => {
      await answer((lines) => write(process.stdout, lines))
      return ''
    },
    json: async () => {
      let all = ''
      await answer((lines) => {
        all += lines
      })
      return all
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as unknown)
    },
  }
}

async function withTopic(
  folder: string,
  work: (file: string, own: PublicKey | undefined) => Promise<void>,
): Promise<void> {
  const opened = DataFolder.open(folder, { create: false })
  try {
    const database = NodeDatabase.open(opened.nodeDatabase)
    try {
      const { topic } = (await Settings.open(database.settings, () => {})).document.swarm
      const file = topicFile(opened.path, topic)
      if (!existsSync(file))
        throw new ShoalError('ERR_INVALID_INPUT', `There are no events of the topic '${topic}' in \`${opened.path}\`.`)
      await work(file, database.publicKey)
    } finally {
      database.close()
    }
  } finally {
    opened.close()
  }
}

/** What `appId(me)` is, where nobody has a token. */
const localApp = 'com.actyx.test'
