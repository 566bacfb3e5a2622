import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { DamagedData, verifyLog } from '../../src/store/sqlite/index.ts'
import { LogWriter } from '../../src/store/sqlite/write/writer.ts'
import { temporaryFolder } from '../support/folder.ts'
import { dumpOf, someEvents } from './acceptance/importing.ts'

const key = KeyPair.generate(systemRandom)

function fileOf(t: TestContext): string {
  return join(temporaryFolder(t), 'log.db')
}

/** Runs work on a log that is opened for it. */
function within<T>(file: string, work: (writer: LogWriter) => T): T {
  const writer = new LogWriter({ file, topic: 't', kind: 'imported', key, now: nowMicros, random: systemRandom })
  try {
    return work(writer)
  } finally {
    writer.close()
  }
}

test('the origins of imported events are known after a restart', (t) => {
  const file = fileOf(t)
  assert.deepEqual(
    within(file, (writer) => writer.import(dumpOf(someEvents(300)))),
    { added: 300 },
  )
  assert.deepEqual(
    within(file, (writer) => writer.import(dumpOf(someEvents(301)))),
    { added: 1 },
  )
  assert.deepEqual(
    within(file, (writer) => writer.import(dumpOf(someEvents(301)))),
    { added: 0 },
  )
})

test('an import fails where the origin of an event is damaged, and adds nothing; verify finds it', (t) => {
  const file = fileOf(t)
  within(file, (writer) => writer.import(dumpOf(someEvents(3))))
  assert.deepEqual(verifyLog(file).problems, [])
  const database = new DatabaseSync(file)
  database.exec('UPDATE origin SET event = event + 1 WHERE offset = 3')
  database.close()
  assert.throws(() => within(file, (writer) => writer.import(dumpOf(someEvents(5)))), DamagedData)
  const events = within(file, (writer) => writer.clock)
  assert.equal(events, 3)
  assert.match(
    verifyLog(file).problems.join(),
    /^origins of imported events: the origin 1\/3 of an imported event is damaged$/,
  )
})
