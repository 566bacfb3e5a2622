import { join } from 'node:path'
import { Events, readerModule } from '../../src/events/index.ts'
import { Files } from '../../src/files/index.ts'
import { KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore } from '../../src/store/index.ts'

export const app = 'com.example.crash'
const key = new KeyPair(Buffer.alloc(32, 7))
export const node = nodeIdOf(key.publicKey)
/** Cache limits of zero: everything that is not pinned is evicted. */
export const nothing = { count: 0, bytes: 0 }

export const blocksIn = (folder: string): string => join(folder, 'blocks.db')

/** Opens the files in a folder, with the event store that they follow. */
export async function openFiles(folder: string): Promise<{ files: Files; close(): Promise<void> }> {
  const output = logOutput(
    textLine(false),
    { write: (text) => process.stderr.write(text), flush: async () => {} },
    systemClock,
  )
  const log = new Logger(output, 'crash')
  const store = await SqliteEventStore.open({
    runtime: systemRuntime,
    file: join(folder, 'log.db'),
    topic: 'crash',
    kind: 'live',
    key,
    readerModule,
  })
  const startReading: SqliteEventStore['start'] = (job, request) => store.start(job, request)
  const events = await Events.open(store, { ...systemRuntime, node, routes: [], log, startReading })
  const files = new Files({ ...systemRuntime, file: blocksIn(folder), node, events, log })
  const close = async (): Promise<void> => {
    await files.close()
    await events.close()
  }
  return { files, close }
}
