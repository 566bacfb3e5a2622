import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogReader, LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from './folder.ts'

/** An event log for a test, with a writer and a reader. */
export function openLog(t: TestContext, now: () => number = () => 1): { writer: LogWriter; reader: LogReader } {
  const file = join(temporaryFolder(t), 'log.db')
  const key = KeyPair.generate(systemRandom)
  const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now, random: systemRandom })
  const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
  t.after(() => {
    reader.close()
    writer.close()
  })
  return { writer, reader }
}
