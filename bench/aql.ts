// `npm run bench:aql [-- --events N] [--json]`: the cost of queries relative to handwritten loops with the same
// results, over the same payload texts and in the same run.
import { deepEqual, ok } from 'node:assert/strict'
import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { IndexedEvents, someOrders } from './aql/orders.ts'
import { storedLines } from './aql/stored.ts'
import { run, type Subject, subjects } from './aql/subjects.ts'
import { interleave, time } from './store/measure.ts'
import { atLeast, type Line, speed, text } from './store/report.ts'
import { Workspace } from './store/workspace.ts'

const rounds = 9

const { values } = parseArgs({
  options: { events: { type: 'string', default: '60000' }, json: { type: 'boolean', default: false } },
})
// An order has three events, and the handwritten loops require all of them.
const count = Math.floor(Number(values.events) / 3) * 3
if (!Number.isSafeInteger(count) || count < 3000) throw new Error(`--events ${values.events}: a number from 3000 on`)

async function measured(subject: Subject, events: IndexedEvents): Promise<Line> {
  const lines = (work: (line: (text: string) => void) => void): string[] => {
    const all: string[] = []
    work((text) => all.push(text))
    return all
  }
  const expected = lines((line) => subject.byHand(events, line))
  deepEqual(
    lines((line) => run(subject, events, line)),
    expected,
    subject.name,
  )
  // Summing the lengths prevents dead-code elimination.
  let length = 0
  const line = (text: string): void => {
    length += text.length
  }
  const { ours, bare } = await interleave(rounds, {
    ours: () => time(() => run(subject, events, line)),
    bare: () => time(() => subject.byHand(events, line)),
  })
  ok(length > 0)
  const operations = events.of(subject.tag).length
  return speed({ name: subject.name, goal: atLeast(0.5), ours, bare, bareName: 'by hand', operations, unit: 'events' })
}

const events = new IndexedEvents(someOrders(count))
const lines: Line[] = []
for (const subject of subjects) lines.push(await measured(subject, events))
lines.push(...(await storedLines(new Workspace(), count, rounds)))
const machine = `${cpus().length} × ${cpus()[0]?.model.trim()}`
const report = { subject: 'Queries', events: count, node: process.version, machine, lines }
console.log(text(report, values.json))
