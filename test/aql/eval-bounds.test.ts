import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Cursor, type Events, later } from '../../src/aql/eval/event-source.ts'
import { MemoryEvents } from '../../src/aql/eval/memory-events.ts'
import { MessageWriter } from '../../src/aql/eval/messages.ts'
import { answer } from '../../src/aql/eval/query.ts'
import { Subscription } from '../../src/aql/eval/subscription.ts'
import { aqlLimits, givenEvents, parseQuery } from '../../src/aql/index.ts'
import { eventsFrom, messagesOf, now } from './eval/run.ts'

const numbers = (count: number) => eventsFrom(Array.from({ length: count }, (_, at) => ({ tags: ['n'], payload: at })))

/** Makes an array of one item 59,049 items long. */
const longer = 'LET a := [...a, ...a, ...a] '.repeat(10)

const lastMessage = (query: string) => messagesOf(query, numbers(3)).at(-2)?.message ?? ''

describe('a query that asks for too much gets a diagnostic', () => {
  test('a text that doubles with every step', () => {
    const doubling = 'LET s := `{s}{s}` '.repeat(40)
    assert.match(lastMessage(`FROM ['abc'] LET s := _ ${doubling} SELECT s`), /limit templateLength/)
  })

  test('an array that doubles with every step', () => {
    const doubling = 'LET a := [...a, ...a] '.repeat(40)
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${doubling} SELECT a`), /limit arrayLength/)
  })

  test('a value that is small in memory and endless as a text', () => {
    const doubling = 'LET a := [a, a] '.repeat(60)
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${doubling} SELECT a`), /limit resultLength/)
  })

  test('a long text that is used many times', () => {
    const long = 'LET s := `{s}{s}` '.repeat(20)
    const many = `[${Array.from({ length: 2000 }, () => 's').join()}]`
    assert.match(lastMessage(`FROM ['abc'] LET s := _ ${long} SELECT ${many}`), /limit resultLength/)
  })

  test('such a value as the result of a nested query', () => {
    const doubling = 'LET a := [a, a] '.repeat(60)
    assert.match(lastMessage(`FROM [1] SELECT FROM [1] LET a := _ ${doubling} SELECT a`), /limit subQueryBytes/)
  })

  test('long texts that are compared again and again', () => {
    const long = 'LET s := `{s}{s}` '.repeat(22)
    const comparisons = Array.from({ length: 200 }, () => 't < u').join(' & ')
    const query = `FROM ['a'] LET s := _ ${long} LET t := \`{s}b\` LET u := \`{s}c\` FILTER ${comparisons}`
    assert.match(lastMessage(query), /limit heldBytes/)
  })

  test('long arrays that are made again and again', () => {
    const copies = Array.from({ length: 300 }, () => '([...a])[0]').join(' + ')
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${longer} SELECT ${copies}`), /limit heldBytes/)
  })

  test('results of nested queries that are kept in many variables, also of queries around them', () => {
    const bind = (name: string) => `LET ${name} := FROM [...a] SELECT { a: _, b: [_], c: { d: _ } } END `
    const many = Array.from({ length: 20 }, (_, at) => bind(`b${at}`)).join('')
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${longer} ${many} SELECT 1`), /limit heldBytes/)
    const nested = Array.from({ length: 20 }, (_, at) => `FROM [1] ${bind(`b${at}`)} SELECT `).join('')
    const ends = 'END '.repeat(20)
    assert.match(lastMessage(`FROM [[1]] LET a := _ ${longer} SELECT ${nested} 1 ${ends}`), /limit heldBytes/)
  })

  test('results of one event that are together too long for a subscription', () => {
    const long = 'LET s := `{s}{s}` '.repeat(20)
    const lines: string[] = []
    const query = parseQuery(`FROM 'n' LET s := 'abc' ${long} SELECT ...[${Array(100).fill('s').join()}]`, { now })
    const subscription = new Subscription(query, 'me', new MessageWriter((line) => lines.push(line)))
    const [event] = numbers(1)
    if (event !== undefined) subscription.push(event)
    assert.ok(subscription.done)
    assert.match(lines.at(-1) ?? '', /"severity":"error".*limit heldBytes/)
  })

  test('a number beyond all doubles', () => {
    assert.match(lastMessage(`FROM 'n' SELECT 1${'0'.repeat(310)}`), /floating-point overflow/)
    assert.match(lastMessage(`FROM 'n' SELECT -1${'0'.repeat(310)}`), /floating-point underflow/)
    const query = parseQuery(`PRAGMA events\n{"payload":{"a":[1e999]}}\nENDPRAGMA\nFROM allEvents`, { now })
    assert.throws(() => givenEvents(query, now), { detail: 'PRAGMA events, line 1: number out of range' })
  })

  test('a value that is nested too deeply to be written', () => {
    const deeper = `LET a := ${'['.repeat(300)}a${']'.repeat(300)} `.repeat(10)
    assert.match(lastMessage(`FROM [1] LET a := _ ${deeper} SELECT a`), /limit valueNesting/)
  })

  test('such a value in a message is cut off', () => {
    const deeper = `LET a := ${'['.repeat(300)}a${']'.repeat(300)} `.repeat(10)
    assert.match(lastMessage(`FROM [1] LET a := _ ${deeper} FILTER a`), /^synthetic: \[{1000}.*… is not a bool$/)
  })

  test('values that multiply with every stage', () => {
    const query = `FROM [1] ${'SELECT ...[_, _, _, _, _, _, _, _, _, _] '.repeat(7)} FILTER FALSE`
    const [message] = messagesOf(query, [])
    assert.equal(message?.severity, 'error')
    assert.match(message?.message ?? '', /limit selectedValues/)
  })

  test('more stages than the stack would take', () => {
    const text = `FROM 'n' ${'FILTER TRUE '.repeat(aqlLimits.stages + 1)}`
    assert.throws(() => messagesOf(text, []), /limit stages/)
  })

  test('more aggregators than there should be', () => {
    const all = Array.from({ length: aqlLimits.aggregators + 1 }, (_, at) => `SUM(${at})`)
    assert.throws(() => messagesOf(`FROM 'n' AGGREGATE [${all.join()}]`, []), /limit aggregators/)
  })
})

describe('a query that asks for much gets it', () => {
  test('ten thousand operators in a row', () => {
    const terms = Array.from({ length: 10_000 }, () => '1')
    assert.equal(messagesOf(`FROM [${terms.join(' + ')}]`, [])[0]?.payload, 10_000)
    assert.equal(messagesOf(`FROM [${terms.map(() => 'x').join(' ?? ')} ?? 7]`, [])[0]?.payload, 7)
    assert.equal(messagesOf(`FROM [${terms.map(() => 'FALSE').join(' | ')}]`, [])[0]?.payload, false)
  })

  test('one event after the other, each with as much as it may have', () => {
    const long = 'LET s := `{s}{s}` '.repeat(21)
    const results = messagesOf(`FROM 'n' LET s := 'abc' ${long} FILTER s = \`{s}\` SELECT _`, numbers(30))
    assert.equal(results.filter(({ type }) => type === 'event').length, 30)
  })

  test('two hundred queries within each other', () => {
    const query = `${'FROM [1] SELECT '.repeat(200)}7 ${'END '.repeat(199)}`
    let payload = messagesOf(query, [])[0]?.payload
    for (let level = 1; level < 200; level++) payload = (payload as unknown[])[0]
    assert.equal(payload, 7)
  })

  test('a payload that is as deep as one may be', () => {
    const depth = 512
    const json = `${'['.repeat(depth)}1${']'.repeat(depth)}`
    const deep = eventsFrom([{ tags: ['n'], json }])
    assert.deepEqual(messagesOf("FROM 'n' SELECT [_]", deep)[0]?.payload, [JSON.parse(json)])
  })

  test('a thousand stages', () => {
    const text = `FROM 'n' ${'FILTER TRUE '.repeat(aqlLimits.stages)}`
    assert.equal(messagesOf(text, numbers(2)).length, 3)
  })
})

/** Counts what is done with the cursors of a store. */
class WatchedEvents implements Events {
  readonly #events: Events
  readonly #isLate: () => boolean
  read = 0
  opened = 0
  closed = 0

  constructor(events: Events, isLate = () => false) {
    this.#events = events
    this.#isLate = isLate
  }

  open(...request: Parameters<Events['open']>): Cursor {
    const cursor = this.#events.open(...request)
    this.opened++
    return {
      next: () => {
        if (this.#isLate()) return later
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

describe('a query gives way', () => {
  const run = (text: string, events: Events, isOver: () => boolean) => {
    const lines: string[] = []
    const request = { events, appId: 'me', order: 'asc' as const, turn: { isOver } }
    return { lines, steps: answer(parseQuery(text, { now }), request, new MessageWriter((line) => lines.push(line))) }
  }

  test('in the middle of a nested query, whenever its turn is over', () => {
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

  test('in the middle of an event that becomes many values', () => {
    const stages = 'SELECT ...[_, _, _, _, _, _, _, _, _, _] '.repeat(4)
    const { lines, steps } = run(`FROM 'n' ${stages} AGGREGATE SUM(1)`, new MemoryEvents(numbers(1)), () => true)
    let turns = 0
    while (steps.next().done !== true) turns++
    assert.ok(turns > 10_000 / 64)
    assert.match(lines[0] ?? '', /"payload":10000/)
  })

  test('when the store says so, without losing an event', () => {
    let asked = 0
    const watched = new WatchedEvents(new MemoryEvents(numbers(10)), () => asked++ % 2 === 0)
    const { lines, steps } = run("FROM 'n' AGGREGATE SUM(_)", watched, () => false)
    let turns = 0
    while (steps.next().done !== true) turns++
    assert.equal(turns, 11)
    assert.match(lines[0] ?? '', /"payload":45/)
  })

  test('and closes what it opened when nobody wants to know any more', () => {
    const watched = new WatchedEvents(new MemoryEvents(numbers(1000)))
    const { steps } = run("FROM 'n' SELECT FROM 'n' AGGREGATE SUM(_)", watched, () => true)
    steps.next()
    assert.equal(watched.opened - watched.closed, 2)
    steps.return(false)
    assert.equal(watched.opened, watched.closed)
  })
})

describe('a query reads no more than it has to', () => {
  const readBy = (text: string) => {
    const watched = new WatchedEvents(new MemoryEvents(numbers(1000)))
    messagesOf(text, [], { port: watched })
    assert.equal(watched.opened, watched.closed)
    return watched.read
  }

  test('with a limit, or when the first event settles it', () => {
    assert.equal(readBy("FROM 'n' LIMIT 3"), 3)
    assert.equal(readBy("FROM 'n' FILTER _ > 10 LIMIT 2"), 13)
    assert.equal(readBy("FROM 'n' AGGREGATE LAST(_)"), 1)
    assert.equal(readBy("FROM 'n' AGGREGATE FIRST(_)"), 1)
    assert.equal(readBy("FROM 'n' AGGREGATE 42"), 1)
    assert.equal(readBy("FROM 'n' FILTER _ = 5 AGGREGATE 42"), 6)
    assert.equal(readBy("FROM 'n' FILTER _ AGGREGATE 42"), 1)
    assert.equal(readBy("FROM [1] SELECT FROM 'n' AGGREGATE LAST(_)"), 1)
  })

  test('and looks into no payload, tag or app that it does not need', () => {
    const untouchable = {
      lamport: 1,
      stream: { node: 'z'.repeat(43), number: 0 },
      offset: 0,
      time: 5,
      own: true,
      get tags(): never {
        throw new Error('nobody needs these')
      },
      get appId(): never {
        throw new Error('nobody needs this')
      },
      get payload(): never {
        throw new Error('nobody needs this')
      },
    }
    const query = 'FROM allEvents FILTER (TIME(_))[0] > TIME(1970-01-01Z) AGGREGATE SUM(1)'
    assert.equal(messagesOf(query, [untouchable])[0]?.payload, 1)
  })
})
