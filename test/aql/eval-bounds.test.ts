import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Cursor, type EventProvider, notReady } from '../../src/aql/eval/event-provider.ts'
import { MemoryEvents } from '../../src/aql/eval/memory-events.ts'
import { MessageWriter } from '../../src/aql/eval/messages.ts'
import { evaluateQuery } from '../../src/aql/eval/query.ts'
import { Subscription } from '../../src/aql/eval/subscription.ts'
import { aqlLimits, inlineEvents, parseQuery } from '../../src/aql/index.ts'
import { eventsFrom, messagesOf, now } from './eval/run.ts'

const numbers = (count: number) => eventsFrom(Array.from({ length: count }, (_, at) => ({ tags: ['n'], payload: at })))

/** Turns an array of one item into one of 59,049 items. */
const longer = 'LET a := [...a, ...a, ...a] '.repeat(10)

const lastMessage = (query: string) => messagesOf(query, numbers(3)).at(-2)?.message ?? ''

describe('a query that exceeds a limit gets a diagnostic', () => {
  test('a string that doubles with every stage exceeds templateLength', () => {
    const doubling = 'LET s := `{s}{s}` '.repeat(40)
    assert.match(lastMessage(`FROM ['abc'] LET s := _ ${doubling} SELECT s`), /limit templateLength/)
  })

  test('an array that doubles with every stage exceeds arrayLength', () => {
    const doubling = 'LET a := [...a, ...a] '.repeat(40)
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${doubling} SELECT a`), /limit arrayLength/)
  })

  test('a value with shared parts, exponentially long as JSON, exceeds resultLength', () => {
    const doubling = 'LET a := [a, a] '.repeat(60)
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${doubling} SELECT a`), /limit resultLength/)
  })

  test('a long string that is referenced many times exceeds resultLength', () => {
    const long = 'LET s := `{s}{s}` '.repeat(20)
    const many = `[${Array.from({ length: 2000 }, () => 's').join()}]`
    assert.match(lastMessage(`FROM ['abc'] LET s := _ ${long} SELECT ${many}`), /limit resultLength/)
  })

  test('a value with shared parts as result of a nested query exceeds subQueryBytes', () => {
    const doubling = 'LET a := [a, a] '.repeat(60)
    assert.match(lastMessage(`FROM [1] SELECT FROM [1] LET a := _ ${doubling} SELECT a`), /limit subQueryBytes/)
  })

  test('repeated comparisons of long strings exceed heldBytes', () => {
    const long = 'LET s := `{s}{s}` '.repeat(22)
    const comparisons = Array.from({ length: 200 }, () => 't < u').join(' & ')
    const query = `FROM ['a'] LET s := _ ${long} LET t := \`{s}b\` LET u := \`{s}c\` FILTER ${comparisons}`
    assert.match(lastMessage(query), /limit heldBytes/)
  })

  test('repeated copies of a long array exceed heldBytes', () => {
    const copies = Array.from({ length: 300 }, () => '([...a])[0]').join(' + ')
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${longer} SELECT ${copies}`), /limit heldBytes/)
  })

  test('nested query results bound to many variables, also in outer queries, exceed heldBytes', () => {
    const bind = (name: string) => `LET ${name} := FROM [...a] SELECT { a: _, b: [_], c: { d: _ } } END `
    const many = Array.from({ length: 20 }, (_, at) => bind(`b${at}`)).join('')
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${longer} ${many} SELECT 1`), /limit heldBytes/)
    const nested = Array.from({ length: 20 }, (_, at) => `FROM [1] ${bind(`b${at}`)} SELECT `).join('')
    const ends = 'END '.repeat(20)
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${longer} SELECT ${nested} 1 ${ends}`), /limit heldBytes/)
  })

  test('a subscription ends when the results of one event exceed heldBytes', () => {
    const long = 'LET s := `{s}{s}` '.repeat(20)
    const lines: string[] = []
    const query = parseQuery(`FROM 'n' LET s := 'abc' ${long} SELECT ...[${Array(100).fill('s').join()}]`, { now })
    const subscription = new Subscription(query, 'me', new MessageWriter((line) => lines.push(line)))
    const [event] = numbers(1)
    if (event !== undefined) subscription.push(event)
    assert.ok(subscription.done)
    assert.match(lines.at(-1) ?? '', /"severity":"error".*limit heldBytes/)
  })

  test('a number beyond the range of a double overflows', () => {
    assert.match(lastMessage(`FROM 'n' SELECT 1${'0'.repeat(310)}`), /floating-point overflow/)
    assert.match(lastMessage(`FROM 'n' SELECT -1${'0'.repeat(310)}`), /floating-point underflow/)
    const query = parseQuery(`PRAGMA events\n{"payload":{"a":[1e999]}}\nENDPRAGMA\nFROM allEvents`, { now })
    assert.throws(() => inlineEvents(query, now), { detail: 'PRAGMA events, line 1: number out of range' })
  })

  test('a value that is nested too deeply exceeds valueNesting', () => {
    const deeper = `LET a := ${'['.repeat(300)}a${']'.repeat(300)} `.repeat(10)
    assert.match(lastMessage(`FROM [1] LET a := _ ${deeper} SELECT a`), /limit valueNesting/)
  })

  test('a deeply nested value is truncated in a message', () => {
    const deeper = `LET a := ${'['.repeat(300)}a${']'.repeat(300)} `.repeat(10)
    assert.match(lastMessage(`FROM [1] LET a := _ ${deeper} FILTER a`), /^synthetic: \[{1000}.*… is not a bool$/)
  })

  test('values that multiply with every SELECT exceed selectedValues', () => {
    const query = `FROM [1] ${'SELECT ...[_, _, _, _, _, _, _, _, _, _] '.repeat(7)} FILTER FALSE`
    const [message] = messagesOf(query, [])
    assert.equal(message?.severity, 'error')
    assert.match(message?.message ?? '', /limit selectedValues/)
  })

  test('a query with too many stages is rejected', () => {
    const text = `FROM 'n' ${'FILTER TRUE '.repeat(aqlLimits.stages + 1)}`
    assert.throws(() => messagesOf(text, []), /limit stages/)
  })

  test('a query with too many aggregators is rejected', () => {
    const all = Array.from({ length: aqlLimits.aggregators + 1 }, (_, at) => `SUM(${at})`)
    assert.throws(() => messagesOf(`FROM 'n' AGGREGATE [${all.join()}]`, []), /limit aggregators/)
  })
})

describe('a large query within the limits is evaluated', () => {
  test('a chain of ten thousand operators', () => {
    const terms = Array.from({ length: 10_000 }, () => '1')
    assert.equal(messagesOf(`FROM [${terms.join(' + ')}]`, [])[0]?.payload, 10_000)
    assert.equal(messagesOf(`FROM [${terms.map(() => 'x').join(' ?? ')} ?? 7]`, [])[0]?.payload, 7)
    assert.equal(messagesOf(`FROM [${terms.map(() => 'FALSE').join(' | ')}]`, [])[0]?.payload, false)
  })

  test('many events, each of which uses most of the allowance', () => {
    const long = 'LET s := `{s}{s}` '.repeat(21)
    const results = messagesOf(`FROM 'n' LET s := 'abc' ${long} FILTER s = \`{s}\` SELECT _`, numbers(30))
    assert.equal(results.filter(({ type }) => type === 'event').length, 30)
  })

  test('two hundred nested queries', () => {
    const query = `${'FROM [1] SELECT '.repeat(200)}7 ${'END '.repeat(199)}`
    let payload = messagesOf(query, [])[0]?.payload
    for (let level = 1; level < 200; level++) payload = (payload as unknown[])[0]
    assert.equal(payload, 7)
  })

  test('a payload of the maximum depth', () => {
    const depth = 512
    const json = `${'['.repeat(depth)}1${']'.repeat(depth)}`
    const deep = eventsFrom([{ tags: ['n'], json }])
    assert.deepEqual(messagesOf("FROM 'n' SELECT [_]", deep)[0]?.payload, [JSON.parse(json)])
  })

  test('the maximum number of stages', () => {
    const text = `FROM 'n' ${'FILTER TRUE '.repeat(aqlLimits.stages)}`
    assert.equal(messagesOf(text, numbers(2)).length, 3)
  })
})

/** Counts cursor operations. */
class WatchedEvents implements EventProvider {
  readonly #events: EventProvider
  readonly #isLate: () => boolean
  read = 0
  opened = 0
  closed = 0

  constructor(events: EventProvider, isLate = () => false) {
    this.#events = events
    this.#isLate = isLate
  }

  open(...request: Parameters<EventProvider['open']>): Cursor {
    const cursor = this.#events.open(...request)
    this.opened++
    return {
      next: () => {
        if (this.#isLate()) return notReady
        this.read++
        return cursor.next()
      },
      close: () => {
        this.closed++
        cursor.close()
      },
    }
  }
}

describe('cooperative scheduling of a query', () => {
  const run = (text: string, events: EventProvider, isOver: () => boolean) => {
    const lines: string[] = []
    const request = { events, appId: 'me', order: 'asc' as const, slice: { isOver } }
    return {
      lines,
      steps: evaluateQuery(parseQuery(text, { now }), request, new MessageWriter((line) => lines.push(line))),
    }
  }

  test('a nested query yields when its time slice is used up', () => {
    const watched = new WatchedEvents(new MemoryEvents(numbers(1000)))
    const { lines, steps } = run("FROM [1] SELECT FROM 'n' AGGREGATE SUM(_)", watched, () => true)
    let turns = 0
    let before = 0
    for (; steps.next().done !== true; turns++) {
      assert.ok(watched.read - before <= 64)
      before = watched.read
    }
    assert.ok(turns >= 15)
    assert.match(lines[0] ?? '', /"payload":\[499500\]/)
  })

  test('SELECT yields while it produces many values from one event', () => {
    const stages = 'SELECT ...[_, _, _, _, _, _, _, _, _, _] '.repeat(4)
    const { lines, steps } = run(`FROM 'n' ${stages} AGGREGATE SUM(1)`, new MemoryEvents(numbers(1)), () => true)
    let turns = 0
    while (steps.next().done !== true) turns++
    assert.ok(turns > 10_000 / 64)
    assert.match(lines[0] ?? '', /"payload":10000/)
  })

  test('a query yields when the cursor returns notReady, and loses no event', () => {
    let asked = 0
    const watched = new WatchedEvents(new MemoryEvents(numbers(10)), () => asked++ % 2 === 0)
    const { lines, steps } = run("FROM 'n' AGGREGATE SUM(_)", watched, () => false)
    let turns = 0
    while (steps.next().done !== true) turns++
    assert.equal(turns, 11)
    assert.match(lines[0] ?? '', /"payload":45/)
  })

  test('a cancelled query closes its cursors', () => {
    const watched = new WatchedEvents(new MemoryEvents(numbers(1000)))
    const { steps } = run("FROM 'n' SELECT FROM 'n' AGGREGATE SUM(_)", watched, () => true)
    steps.next()
    assert.equal(watched.opened - watched.closed, 2)
    steps.return(false)
    assert.equal(watched.opened, watched.closed)
  })
})

describe('a query reads as little as possible', () => {
  const readBy = (text: string) => {
    const watched = new WatchedEvents(new MemoryEvents(numbers(1000)))
    messagesOf(text, [], { port: watched })
    assert.equal(watched.opened, watched.closed)
    return watched.read
  }

  test('a query stops reading when LIMIT is reached or the result is settled', () => {
    assert.equal(readBy("FROM 'n' LIMIT 3"), 3)
    assert.equal(readBy("FROM 'n' FILTER _ > 10 LIMIT 2"), 13)
    assert.equal(readBy("FROM 'n' AGGREGATE LAST(_)"), 1)
    assert.equal(readBy("FROM 'n' AGGREGATE FIRST(_)"), 1)
    assert.equal(readBy("FROM 'n' AGGREGATE 42"), 1)
    assert.equal(readBy("FROM 'n' FILTER _ = 5 AGGREGATE 42"), 6)
    assert.equal(readBy("FROM 'n' FILTER _ AGGREGATE 42"), 1)
    assert.equal(readBy("FROM [1] SELECT FROM 'n' AGGREGATE LAST(_)"), 1)
  })

  test('payload, tags and app of an event are not read unless the query uses them', () => {
    const untouchable = {
      lamport: 1,
      stream: { node: 'z'.repeat(43), number: 0 },
      offset: 0,
      time: 5,
      own: true,
      get tags(): never {
        throw new Error('tags must not be read')
      },
      get appId(): never {
        throw new Error('it must not be read')
      },
      get payload(): never {
        throw new Error('it must not be read')
      },
    }
    const query = 'FROM allEvents FILTER (TIME(_))[0] > TIME(1970-01-01Z) AGGREGATE SUM(1)'
    assert.equal(messagesOf(query, [untouchable])[0]?.payload, 1)
  })
})
