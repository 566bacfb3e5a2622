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

/** The first requests that have so many events, all of them for one stream or for several. */
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

/** A store that is written to here, with what its victim would have said. */
class Rig {
  readonly file: string
  readonly key = KeyPair.generate(systemRandom)
  readonly ledger = new Ledger(seed)
  readonly told = new Problems()
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
    // As it was killed, not closed: but for those who close it to change something in it.
    t.after(() => this.writer.database.isOpen && this.writer.close())
  }

  say(...reports: Report[]): void {
    for (const report of reports) this.ledger.take(report, this.told)
  }

  store(events: readonly SentEvent[]): Appended {
    return this.writer.append([toRequest(events)])[0] as Appended
  }

  answer(id: number, { lamport, time, runs }: Appended): void {
    const texts = runs.map(({ stream, offset, count }): RunText => [stream, offset, count])
    this.say({ type: 'appended', id, lamport, time, runs: texts })
  }

  /** Appends requests as they should be appended. */
  append(...ids: readonly number[]): void {
    for (const id of ids) {
      this.say({ type: 'appending', id })
      this.answer(id, this.store(eventsOf(seed, id)))
    }
  }

  /** Changes something behind the back of the store. */
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
    checked.problems.addAll(this.told)
    return checked
  }
}

test('a process that is killed a few times loses nothing', async (t) => {
  const { kills, problems } = await run({ kills: 5, seed, folder: temporaryFolder(t) })
  assert.deepEqual(problems.texts, [])
  assert.equal(problems.total, 0)
  assert.equal(kills, 5)
})

test('a store that holds what it acknowledged has no problems, whatever happened to requests without an answer', (t) => {
  const rig = new Rig(t)
  rig.append(first, spread, large)
  rig.say({ type: 'redacting', stream: 0, offset: 3 })
  rig.writer.redact(0, 3)
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
  // What was found once has to stay.
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

/** Ways in which a store can be wrong, and what is to be said of each. */
const wrongs: Record<string, { kind: ProblemKind; make: (rig: Rig) => void }> = {
  'a request that was answered is not there': {
    kind: 'lost',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'appending', id: second })
      rig.answer(second, { lamport: 20, time: 1, runs: [{ stream: 0, offset: 20, count: 20 }] })
    },
  },
  'the last commit is gone': {
    kind: 'lost',
    make(rig) {
      rig.append(first, second)
      rig.tamper('DELETE FROM tail WHERE key = 20')
    },
  },
  'a commit in the middle is gone': {
    kind: 'unreadable',
    make(rig) {
      rig.append(first, second, third)
      rig.tamper('DELETE FROM tail WHERE key = 20')
    },
  },
  'everything is gone': {
    kind: 'lost',
    make(rig) {
      rig.append(first)
      rig.tamper('DELETE FROM tail; DELETE FROM stream')
    },
  },
  'a payload is gone that nobody removed': {
    kind: 'lost',
    make(rig) {
      rig.append(first)
      rig.writer.redact(0, 5)
    },
  },
  'events are pruned that nobody pruned': {
    kind: 'lost',
    make(rig) {
      rig.append(large)
      rig.writer.prune(0, checkpoints(rig)[0] ?? -1)
    },
  },
  'a request is there twice': {
    kind: 'doubled',
    make(rig) {
      rig.append(first, second)
      rig.store(eventsOf(seed, first))
    },
  },
  'a request without an answer is there twice': {
    kind: 'doubled',
    make(rig) {
      rig.say({ type: 'appending', id: first })
      rig.store(eventsOf(seed, first))
      rig.store(eventsOf(seed, first))
    },
  },
  'two requests have the same place': {
    kind: 'doubled',
    make(rig) {
      rig.say({ type: 'appending', id: first }, { type: 'appending', id: second })
      const appended = rig.store(eventsOf(seed, first))
      rig.answer(second, appended)
      rig.answer(first, appended)
    },
  },
  'two requests have changed places': {
    kind: 'reordered',
    make(rig) {
      rig.say({ type: 'appending', id: first }, { type: 'appending', id: second })
      const [one, other] = [rig.store(eventsOf(seed, first)), rig.store(eventsOf(seed, second))]
      rig.answer(first, other)
      rig.answer(second, one)
    },
  },
  'a request has another timestamp than its answer': {
    kind: 'reordered',
    make(rig) {
      rig.say({ type: 'appending', id: first })
      const appended = rig.store(eventsOf(seed, first))
      rig.answer(first, { ...appended, lamport: appended.lamport + 1 })
    },
  },
  'a request is before one that was answered before it was sent': {
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
  'a request without an answer is there in part': {
    kind: 'torn',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'appending', id: spread })
      rig.store(eventsOf(seed, spread).slice(0, -1))
    },
  },
  'a request without an answer is in one of its streams only': {
    kind: 'torn',
    make(rig) {
      rig.say({ type: 'appending', id: spread })
      const events = eventsOf(seed, spread)
      rig.store(events.filter(({ stream }) => stream === events[0]?.stream))
    },
  },
  'a request is there that was not sent': {
    kind: 'unexpected',
    make(rig) {
      rig.append(first)
      rig.store(eventsOf(seed, second))
    },
  },
  'a stream is there that nobody wrote to': {
    kind: 'unexpected',
    make(rig) {
      rig.append(first)
      rig.store(eventsOf(seed, second).map((event) => ({ ...event, stream: 7 })))
    },
  },
  'a payload that was removed is still there': {
    kind: 'returned',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'redacting', stream: 0, offset: 3 }, { type: 'redacted', stream: 0, offset: 3 })
    },
  },
  'events that were pruned are still there': {
    kind: 'returned',
    make(rig) {
      rig.append(large)
      const [count = -1] = checkpoints(rig)
      rig.say({ type: 'pruning', stream: 0, count }, { type: 'pruned', stream: 0, count })
    },
  },
  'a payload that was removed is still in the files': {
    kind: 'left',
    make(rig) {
      rig.append(first)
      rig.say({ type: 'redacting', stream: 0, offset: 3 })
      rig.writer.redact(0, 3)
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
  'the file is one of a later version': {
    kind: 'unreadable',
    make(rig) {
      rig.append(first)
      rig.tamper('PRAGMA user_version = 99')
    },
  },
  'an answer was an error': {
    kind: 'failed',
    make(rig) {
      rig.say({ type: 'failed', what: 'no room' })
    },
  },
}

for (const [what, { kind, make }] of Object.entries(wrongs))
  test(`it is found when ${what}`, (t) => {
    const rig = new Rig(t)
    make(rig)
    const { problems } = rig.check()
    assert.ok(problems.count(kind) > 0, `${kind} is not in: ${problems.texts.join('\n')}`)
  })
