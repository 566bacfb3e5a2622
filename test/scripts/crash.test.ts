import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { type Checked, check } from '../../scripts/crash/check.ts'
import { eventsOf, type SentEvent, toRequest } from '../../scripts/crash/contents.ts'
import { Ledger } from '../../scripts/crash/ledger.ts'
import type { Report, RunText } from '../../scripts/crash/messages.ts'
import { type ProblemKind, Problems } from '../../scripts/crash/problems.ts'
import { Random } from '../../scripts/crash/random.ts'
import { run } from '../../scripts/crash/rounds.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { Appended } from '../../src/store/port/index.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { temporaryFolder } from '../support/folder.ts'

const seed = 'test'
const topic = 'crash'

/** The first requests with the given number of events, for one stream or for several. */
function requestsWith(count: number, several: boolean, howMany: number): number[] {
  const found: number[] = []
  for (let id = 0; found.length < howMany; id++) {
    const events = eventsOf(seed, id)
    const streams = new Set(events.map(({ stream }) => stream))
    if (events.length === count && (several ? streams.size > 1 : streams.size === 1 && streams.has(0))) found.push(id)
  }
  return found
}

const [first = 0, second = 0, third = 0] = requestsWith(20, false, 3)
const [spread = 0] = requestsWith(300, true, 1)
const [large = 0] = requestsWith(1500, false, 1)

/** A store written by this process, with the messages that a victim process would have sent. */
class Rig {
  readonly file: string
  readonly key = KeyPair.generate(systemRandom)
  readonly ledger = new Ledger(seed)
  readonly reported = new Problems()
  readonly writer: LogWriter

  constructor(t: TestContext) {
    this.file = join(temporaryFolder(t), 'log.db')
    this.writer = new LogWriter({
      file: this.file,
      topic,
      kind: 'live',
      key: this.key,
      now: nowMicros,
      random: systemRandom,
    })
    // Not closed, as after a kill, unless the test closes it to tamper with the file.
    t.after(() => this.writer.database.isOpen && this.writer.close())
  }

  say(...reports: Report[]): void {
    for (const report of reports) this.ledger.take(report, this.reported)
  }

  store(events: readonly SentEvent[]): Appended {
    return this.writer.append([toRequest(events)])[0] as Appended
  }

  answer(id: number, { lamport, time, runs }: Appended): void {
    const texts = runs.map(({ stream, offset, count }): RunText => [stream, offset, count])
    this.say({ type: 'appended', id, lamport, time, runs: texts })
  }

  /** Appends requests correctly. */
  append(...ids: readonly number[]): void {
    for (const id of ids) {
      this.say({ type: 'appending', id })
      this.answer(id, this.store(eventsOf(seed, id)))
    }
  }

  /** Modifies the database directly. */
  tamper(sql: string): void {
    this.writer.close()
    const database = new DatabaseSync(this.file)
    database.exec(sql)
    database.close()
  }

  check(): Checked {
    const { file, key, ledger } = this
    if (this.writer.database.isOpen) this.writer.close()
    const checked = check({ file, topic, key, ledger, full: true, random: new Random('check') })
    checked.problems.addAll(this.reported)
    return checked
  }
}

test('a process that is killed several times loses nothing', async (t) => {
  const { kills, problems } = await run({ kills: 5, seed, folder: temporaryFolder(t) })
  assert.deepEqual(problems.texts, [])
  assert.equal(problems.total, 0)
  assert.equal(kills, 5)
})

test('a store with all acknowledged events has no problems, whatever happened to unacknowledged requests', (t) => {
  const rig = new Rig(t)
  rig.append(first, spread, large)
  rig.say({ type: 'redacting', stream: 0, offset: 3 })
  rig.writer.redact(0, [3])
  rig.say({ type: 'redacted', stream: 0, offset: 3 }, { type: 'redacting', stream: 0, offset: 4 })
  rig.writer.sealAll()
  rig.say({ type: 'appending', id: second }, { type: 'appending', id: third })
  rig.store(eventsOf(seed, third))
  const [checkpoint] = checkpoints(rig)
  rig.say({ type: 'pruning', stream: 0, count: checkpoint ?? -1 })
  rig.writer.prune(0, checkpoint ?? -1)
  const { problems, unanswered, events } = rig.check()
  assert.deepEqual(problems.texts, [])
  assert.equal(problems.total, 0)
  assert.equal(unanswered, 1)
  assert.ok(events > 0)
  // Events found by one check have to be found by the next.
  assert.equal(rig.check().problems.total, 0)
  assert.ok(rig.ledger.requests.has(third))
  assert.ok(!rig.ledger.requests.has(second))
})

function checkpoints({ writer }: Rig): number[] {
  return writer.database
    .prepare('SELECT key FROM checkpoint WHERE key < 1 << 40 ORDER BY key')
    .all()
    .map((row) => Number(row['key']))
}

/** Defects of a store, and the expected problem of each. */
const defects: Record<string, { kind: ProblemKind; make: (rig: Rig) => void }> = {
  'an acknowledged request is missing': {
    kind: 'lost',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'appending', id: second })
      rig.answer(second, { lamport: 20, time: 1, runs: [{ stream: 0, offset: 20, count: 20 }] })
    },
  },
  'the last commit is missing': {
    kind: 'lost',
    make(rig) {
      rig.append(first, second)
      rig.tamper('DELETE FROM tail WHERE key = 20')
    },
  },
  'a commit in the middle is missing': {
    kind: 'unreadable',
    make(rig) {
      rig.append(first, second, third)
      rig.tamper('DELETE FROM tail WHERE key = 20')
    },
  },
  'everything is missing': {
    kind: 'lost',
    make(rig) {
      rig.append(first)
      rig.tamper('DELETE FROM tail; DELETE FROM stream')
    },
  },
  'a payload is missing that was not redacted': {
    kind: 'lost',
    make(rig) {
      rig.append(first)
      rig.writer.redact(0, [5])
    },
  },
  'events are missing that were not pruned': {
    kind: 'lost',
    make(rig) {
      rig.append(large)
      rig.writer.prune(0, checkpoints(rig)[0] ?? -1)
    },
  },
  'a request is stored twice': {
    kind: 'doubled',
    make(rig) {
      rig.append(first, second)
      rig.store(eventsOf(seed, first))
    },
  },
  'an unacknowledged request is stored twice': {
    kind: 'doubled',
    make(rig) {
      rig.say({ type: 'appending', id: first })
      rig.store(eventsOf(seed, first))
      rig.store(eventsOf(seed, first))
    },
  },
  'two requests have the same position': {
    kind: 'doubled',
    make(rig) {
      rig.say({ type: 'appending', id: first }, { type: 'appending', id: second })
      const appended = rig.store(eventsOf(seed, first))
      rig.answer(second, appended)
      rig.answer(first, appended)
    },
  },
  'two requests have swapped positions': {
    kind: 'reordered',
    make(rig) {
      rig.say({ type: 'appending', id: first }, { type: 'appending', id: second })
      const [one, other] = [rig.store(eventsOf(seed, first)), rig.store(eventsOf(seed, second))]
      rig.answer(first, other)
      rig.answer(second, one)
    },
  },
  'a request has a different timestamp than acknowledged': {
    kind: 'reordered',
    make(rig) {
      rig.say({ type: 'appending', id: first })
      const appended = rig.store(eventsOf(seed, first))
      rig.answer(first, { ...appended, lamport: appended.lamport + 1 })
    },
  },
  'a request precedes one that was acknowledged before it was sent': {
    kind: 'reordered',
    make(rig) {
      rig.say({ type: 'appending', id: first })
      const appended = rig.store(eventsOf(seed, first))
      rig.append(second)
      rig.say({ type: 'appending', id: first })
      rig.answer(first, appended)
    },
  },
  'a payload has changed': {
    kind: 'changed',
    make(rig) {
      rig.say({ type: 'appending', id: first })
      const events = eventsOf(seed, first).map((event, i) =>
        i === 7 ? { ...event, payload: event.payload.replace('"}', '!"}') } : event,
      )
      rig.answer(first, rig.store(events))
    },
  },
  'a tag has changed': {
    kind: 'changed',
    make(rig) {
      rig.say({ type: 'appending', id: first })
      const events = eventsOf(seed, first).map((event, i) => (i === 7 ? { ...event, tags: ['all'] } : event))
      rig.store(events)
    },
  },
  'an unacknowledged request is stored in part': {
    kind: 'torn',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'appending', id: spread })
      rig.store(eventsOf(seed, spread).slice(0, -1))
    },
  },
  'an unacknowledged request is stored in only one of its streams': {
    kind: 'torn',
    make(rig) {
      rig.say({ type: 'appending', id: spread })
      const events = eventsOf(seed, spread)
      rig.store(events.filter(({ stream }) => stream === events[0]?.stream))
    },
  },
  'a request is stored that was not sent': {
    kind: 'unexpected',
    make(rig) {
      rig.append(first)
      rig.store(eventsOf(seed, second))
    },
  },
  'a stream exists that was never written to': {
    kind: 'unexpected',
    make(rig) {
      rig.append(first)
      rig.store(eventsOf(seed, second).map((event) => ({ ...event, stream: 7 })))
    },
  },
  'a redacted payload is still readable': {
    kind: 'returned',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'redacting', stream: 0, offset: 3 }, { type: 'redacted', stream: 0, offset: 3 })
    },
  },
  'pruned events are still readable': {
    kind: 'returned',
    make(rig) {
      rig.append(large)
      const [count = -1] = checkpoints(rig)
      rig.say({ type: 'pruning', stream: 0, count }, { type: 'pruned', stream: 0, count })
    },
  },
  'a redacted payload is still in the files': {
    kind: 'left',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'redacting', stream: 0, offset: 3 })
      rig.writer.redact(0, [3])
      rig.say({ type: 'redacted', stream: 0, offset: 3 })
      rig.tamper(`INSERT INTO meta VALUES ('copy', '${eventsOf(seed, first)[3]?.payload}')`)
    },
  },
  'the index is damaged': {
    kind: 'verify',
    make(rig) {
      rig.append(large)
      rig.writer.sealAll()
      rig.tamper('UPDATE posting SET crc = crc + 1')
    },
  },
  'the file has a later format version': {
    kind: 'unreadable',
    make(rig) {
      rig.append(first)
      rig.tamper('PRAGMA user_version = 99')
    },
  },
  'a response was an error': {
    kind: 'failed',
    make(rig) {
      rig.say({ type: 'failed', what: 'no room' })
    },
  },
}

for (const [what, { kind, make }] of Object.entries(defects))
  test(`the check reports when ${what}`, (t) => {
    const rig = new Rig(t)
    make(rig)
    const { problems } = rig.check()
    assert.ok(problems.count(kind) > 0, `${kind} is not in: ${problems.texts.join('\n')}`)
  })
