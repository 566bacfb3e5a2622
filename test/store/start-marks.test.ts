import assert from 'node:assert/strict'
import { copyFileSync, existsSync, renameSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { heads } from '../../src/protocol/index.ts'
import { doubtOf } from '../../src/replication/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { acceptBackup, backupLog, isUnacceptedBackup, LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { copyLog, restoreLog, syncPoint } from '../support/store-copies.ts'
import { memoryStore } from './acceptance/sources.ts'
import { numbered, requestOf } from './acceptance/support.ts'

const key = KeyPair.generate(systemRandom)

class Log {
  readonly #folder: string
  readonly #test: TestContext
  readonly file: string
  #copies = 0

  constructor(test: TestContext) {
    this.#test = test
    this.#folder = temporaryFolder(test)
    this.file = join(this.#folder, 'log.db')
  }

  path(): string {
    return join(this.#folder, `${this.#copies++}.db`)
  }

  open(file = this.file): LogWriter {
    const writer = new LogWriter({ file, topic: 'a-topic', kind: 'live', key, now: nowMicros, random: systemRandom })
    this.#test.after(() => writer.close())
    return writer
  }

  /** Opens it, does some work, and closes it. */
  use(work: (writer: LogWriter) => void = () => {}, file = this.file): void {
    const writer = this.open(file)
    work(writer)
    writer.close()
  }

  /** Opens the log as a crash at this moment leaves it, in place of the file itself. */
  afterCrash(): LogWriter {
    const crashed = this.path()
    copyLog(this.file, crashed)
    // The same device and inode are remembered, as after a crash of the machine.
    const remembered = new DatabaseSync(crashed)
    const { dev, ino } = statSync(crashed, { bigint: true })
    remembered.prepare("UPDATE meta SET value = ? WHERE name = 'file'").run(`${dev}:${ino}`)
    remembered.close()
    return this.open(crashed)
  }

  doubt(file = this.file): string | undefined {
    let doubt: string | undefined
    this.use((writer) => {
      doubt = doubtOf(writer.startMarks())
    }, file)
    return doubt
  }
}

const append = (writer: LogWriter): void => void writer.append([requestOf(numbered(2))])
const announce = (writer: LogWriter): void => {
  append(writer)
  writer.markAnnounced()
}

test('without announced heads no start is doubtful', (t) => {
  const log = new Log(t)
  assert.equal(log.doubt(), undefined)
  const writer = log.open()
  append(writer)
  assert.equal(doubtOf(log.afterCrash().startMarks()), undefined)
  const copy = log.path()
  copyLog(log.file, copy)
  assert.equal(log.doubt(copy), undefined)
})

test('after announced heads, a start is doubtful unless the log was closed', (t) => {
  const log = new Log(t)
  log.use(announce)
  const writer = log.open()
  assert.deepEqual(writer.startMarks(), {
    isCleanStop: true,
    isSameFile: true,
    isAnnounced: true,
    isRestored: false,
    isAccepted: false,
  })
  assert.equal(doubtOf(log.afterCrash().startMarks()), undefined, 'nothing was written since the clean stop')
  append(writer)
  assert.equal(doubtOf(log.afterCrash().startMarks()), 'unclean')
  writer.close()
  assert.equal(log.doubt(), undefined)
})

test('the mark of a clean stop is removed by the first commit of any kind', async (t) => {
  const other = memoryStore()
  await other.append(requestOf(numbered(3)))
  const chunk = (await other.chunk(0, 0)) as Uint8Array
  const log = new Log(t)
  log.use(announce)
  for (const write of [
    append,
    (writer: LogWriter) => void writer.receive(chunk),
    (writer: LogWriter) => void writer.redact(0, [1]),
    (writer: LogWriter) => writer.probe(),
  ]) {
    const writer = log.open()
    write(writer)
    assert.equal(log.afterCrash().startMarks().isCleanStop, false)
    writer.close()
    assert.equal(log.doubt(), undefined)
  }
})

test('a first commit that fails leaves the mark, and the next one removes it', (t) => {
  const log = new Log(t)
  log.use(announce)
  const writer = log.open()
  const broken = { ...requestOf(numbered(1)), spans: new Int32Array(4).fill(1e9) }
  assert.throws(() => writer.append([broken]))
  assert.equal(log.afterCrash().startMarks().isCleanStop, true)
  append(writer)
  assert.equal(log.afterCrash().startMarks().isCleanStop, false)
})

test('a copied log is recognised, and a moved one is not another file', (t) => {
  const log = new Log(t)
  log.use(announce)
  const [copy, moved] = [log.path(), log.path()]
  copyLog(log.file, copy)
  assert.equal(log.doubt(copy), 'copied')
  assert.equal(log.doubt(), undefined)
  renameSync(log.file, moved)
  assert.equal(log.doubt(moved), undefined)
})

test('a doubt lasts over several starts and clean stops, until it is settled', (t) => {
  const log = new Log(t)
  log.use(announce)
  const copy = log.path()
  copyLog(log.file, copy)
  for (let i = 0; i < 3; i++)
    log.use((writer) => {
      assert.equal(doubtOf(writer.startMarks()), 'copied')
      append(writer)
    }, copy)
  log.use((writer) => writer.settleOwnStreams(), copy)
  assert.equal(log.doubt(copy), undefined)
})

test('a restored backup is in doubt, also if nothing was announced before it, until it is settled', (t) => {
  const log = new Log(t)
  log.use(append)
  const backup = log.path()
  backupLog(log.file, backup, nowMicros())
  for (let i = 0; i < 2; i++) log.use((writer) => assert.equal(doubtOf(writer.startMarks()), 'restored'), backup)
  log.use((writer) => writer.settleOwnStreams(), backup)
  assert.equal(log.doubt(backup), undefined)
  assert.equal(isUnacceptedBackup(backup), false)
})

test('the operator accepts a restored backup while the log is closed', (t) => {
  const log = new Log(t)
  log.use(announce)
  const backup = log.path()
  backupLog(log.file, backup, nowMicros())
  assert.equal(isUnacceptedBackup(backup), true)
  acceptBackup(backup)
  assert.equal(isUnacceptedBackup(backup), false)
  const accepted = `${backup}-accepted`
  assert.equal(log.doubt(backup), undefined)
  assert.ok(existsSync(accepted), 'it is kept until something is written')
  log.use((writer) => {
    append(writer)
    assert.equal(existsSync(accepted), false)
    assert.equal(doubtOf(writer.startMarks()), undefined, 'it stays accepted')
  }, backup)
  assert.equal(log.doubt(backup), undefined)
  const again = log.path()
  backupLog(backup, again, nowMicros())
  assert.equal(log.doubt(again), 'restored')
})

test('the operator accepts a restored backup while the log is open', (t) => {
  const log = new Log(t)
  log.use(announce)
  const backup = log.path()
  backupLog(log.file, backup, nowMicros())
  const writer = log.open(backup)
  assert.equal(writer.startMarks().isAccepted, false)
  acceptBackup(backup)
  assert.equal(writer.startMarks().isAccepted, true)
  writer.settleOwnStreams()
  writer.close()
  assert.equal(log.doubt(backup), undefined)
  assert.equal(existsSync(`${backup}-accepted`), false)
})

test('a log that has lost events was not stopped cleanly', (t) => {
  const log = new Log(t)
  log.use(announce)
  const older = log.path()
  copyLog(log.file, older)
  log.use(append)
  assert.equal(log.open(older).startMarks().isCleanStop, true)
  copyFileSync(`${log.file}-count`, `${older}-count`)
  assert.equal(log.open(older).startMarks().isCleanStop, false)
})

test('a log that is cut back to an earlier sync misses the later commits, and is in doubt', (t) => {
  const log = new Log(t)
  const writer = log.open()
  announce(writer)
  const synced = syncPoint(log.file)
  writer.append([requestOf(numbered(5, 2))])
  const [whole, cut] = [log.path(), log.path()]
  copyLog(log.file, whole)
  copyLog(log.file, cut, synced)
  const [later, earlier] = [log.open(whole), log.open(cut)]
  const counts = [later, earlier].map((log) => heads.verify(log.ownHeads()[0]?.head as Uint8Array).count)
  assert.deepEqual(counts, [7, 2])
  assert.equal(doubtOf(earlier.startMarks()), 'copied')
  for (const opened of [later, earlier, writer]) opened.close()
  const aside = log.path()
  copyLog(cut, aside)
  restoreLog(aside, log.file)
  log.use(append)
  assert.equal(log.doubt(), 'unclean', 'in place it is the same file')
})

test('a store of an earlier version, without marks, is not in doubt', (t) => {
  const log = new Log(t)
  log.use(append)
  const database = new DatabaseSync(log.file)
  database.exec("DELETE FROM meta WHERE name IN ('stopped', 'file', 'announced')")
  database.close()
  log.use((writer) => {
    assert.equal(doubtOf(writer.startMarks()), undefined)
    append(writer)
  })
  assert.equal(log.doubt(), undefined)
})

test('what was saved about the clock is found after a restart, a crash, and in a copy', (t) => {
  const log = new Log(t)
  log.use((writer) => {
    assert.equal(writer.clockRecord(), undefined)
    writer.saveClockRecord('first')
    writer.saveClockRecord('second')
  })
  const writer = log.open()
  assert.equal(writer.clockRecord(), 'second')
  writer.saveClockRecord('third')
  assert.equal(log.afterCrash().clockRecord(), 'third')
})
