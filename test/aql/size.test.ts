import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsPerCharacter } from '../../scripts/fuzz/read.ts'
import { AqlError, aqlLimits, format, parseQuery, print, usedFeatures } from '../../src/aql/index.ts'
import { readQuery } from '../../src/aql/parse.ts'
import { Reader } from '../../src/aql/text/text-reader.ts'
import { messagesOf } from './eval/run.ts'

const options = { now: 0n }
const mebibyte = 1024 * 1024

/** Reads a text, or finds that it is none; either way in proportion to its length. */
function readCounted(text: string): AqlError | undefined {
  const reader = new Reader(text)
  let error: AqlError | undefined
  try {
    readQuery(reader, options.now)
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
    error = thrown
  }
  assert.ok(
    reader.steps <= stepsPerCharacter * (text.length + 10),
    `${reader.steps} steps for ${text.length} characters: ${text.slice(0, 60)}`,
  )
  return error
}

/** As many copies as fit into a mebibyte. */
function filled(text: string): string {
  return text.repeat(Math.floor(mebibyte / text.length))
}

test('ten thousand terms are no problem', () => {
  const tags = Array.from({ length: 10_000 }, (_, i) => `'tag${i}'`)
  for (const operators of [' | ', ' & '])
    for (const write of [print, format]) {
      const query = parseQuery(`FROM ${tags.join(operators)}`, options)
      assert.deepEqual(parseQuery(write(query), options), query)
    }
  const terms = Array.from({ length: 10_000 }, (_, i) => String(i))
  for (const operator of ['+', '??', '-', '^'])
    for (const write of [print, format]) {
      const query = parseQuery(`FROM allEvents SELECT ${terms.join(operator)}`, options)
      assert.deepEqual(parseQuery(write(query), options), query)
    }
})

test('as many keys as a query has room for are no problem, and of two values of one the last counts', () => {
  const keys = Array.from({ length: 70_000 }, (_, i) => `k${i}: ${i}`)
  const [message] = messagesOf(`FROM [0] SELECT { ${keys.join()}, k0: 'last' }`, [])
  const payload = message?.payload as Record<string, unknown>
  assert.deepEqual([Object.keys(payload).length, payload['k0'], payload['k69999']], [70_000, 'last', 69_999])
})

const shapes: readonly (readonly [open: string, close: string])[] = [
  ["FROM 'a' SELECT ", ' END'],
  ["FROM 'a' FILTER TRUE AGGREGATE ", ''],
  ['(', ')'],
  ['1 + (', ')'],
  ['!', ''],
  ['[', ']'],
  ['{ a: ', ' }'],
  ['{ [', ']: 1 }'],
  ['x[', ']'],
  ['`{', '}`'],
  ['CASE TRUE => ', ' ENDCASE'],
  ['Foo(', ')'],
]

test('what is nested may be nested as deep as the limit says, and no deeper', () => {
  for (const [open, close] of shapes) {
    // The expression of the outermost SELECT is a level of its own.
    const levels = aqlLimits.nesting - 1
    const nested = (depth: number) => `FROM 'a' SELECT ${open.repeat(depth)}x${close.repeat(depth)}`
    const query = parseQuery(nested(levels), options)
    for (const write of [print, format]) assert.equal(write(parseQuery(write(query), options)), write(query))
    usedFeatures(query)
    assert.throws(() => parseQuery(nested(levels + 1), options), {
      kind: 'static',
      detail: `the query is nested more than ${aqlLimits.nesting} levels deep`,
    })
  }
  const tags = `FROM ${'('.repeat(aqlLimits.nesting)}'a'${')'.repeat(aqlLimits.nesting)}`
  assert.equal(print(parseQuery(tags, options)), "FROM 'a' END")
  assert.throws(() => parseQuery(tags.replace('(', '(('), options), { kind: 'static' })
})

test('two hundred queries may be nested, each in parentheses', () => {
  const query = parseQuery(`FROM 'a' SELECT ${"(FROM 'a' SELECT ".repeat(200)}_${')[0]'.repeat(200)}`, options)
  for (const write of [print, format]) assert.equal(write(parseQuery(write(query), options)), write(query))
})

test('a mebibyte of anything is read or refused in proportion to its size', () => {
  for (const text of [
    '(',
    '[',
    '{',
    '`',
    "'",
    '"',
    '!',
    '.',
    '-',
    ' ',
    '\n',
    '\0',
    '🐟',
    'a',
    '9',
    'FROM',
    'PRAGMA ',
  ]) {
    readCounted(filled(text))
    readCounted(`FROM ${filled(text)}`)
    readCounted(`FROM 'a' SELECT ${filled(text)}`)
    readCounted(`FROM 'a' SELECT '${filled(text)}'`)
    readCounted(`FROM 'a' --${filled(text)}`)
  }
  assert.equal(readCounted(`FROM 'a' --${filled('x')}`), undefined)
  assert.equal(readCounted(`FROM 'a' SELECT '${filled('x')}'`), undefined)
  assert.equal(readCounted(`FROM 'a' ${filled('FILTER TRUE ')}`), undefined)
  assert.equal(readCounted(`FROM 'a' SELECT x${filled('.a')}`), undefined)
  assert.equal(readCounted(`FROM appId(${filled('a.')}a)`), undefined)
  assert.equal(readCounted(`PRAGMA a := ${filled('x')}\nFROM 'a'`), undefined)
})

test('what fails at many levels is not tried again at each of them', () => {
  const deep = "FROM 'a' SELECT ".repeat(200)
  for (const tail of ['1 + ?', '1, ?', 'x FILTER ?', 'x LET a := ?', "'a' & ('b' + ?", 'x[?', '"?', '`{?', 'Foo(?'])
    readCounted(deep + tail)
  for (const unit of [
    'SELECT(FROM`a`SELECT FROM`a`',
    'SELECT{a:x[FROM`a`',
    "SELECT FROM'a'&('b'&`{FROM'a'",
    'SELECT[FROM`a`SELECT 1,FROM`a`SELECT 1,FROM`a`',
    'SELECT CASE FROM`a`FILTER Foo(FROM`a`',
  ]) {
    readCounted(`FROM 'a'${unit.repeat(40)}`)
    readCounted(`FROM 'a'${unit.repeat(40)} SELECT ?`)
  }
  // What is no index may be the key of the next entry.
  readCounted(`FROM [1] SELECT ${'{a:x['.repeat(40)}?`)
  // A template that is first taken for a tag and then for a value, again and again.
  const templates = "FROM 'a' & ('b' & `{".repeat(60)
  assert.equal(readCounted(`FROM [1] SELECT ${templates}1${'}` + 1)'.repeat(60)}`), undefined)
})

test('every beginning of a query is read or refused', () => {
  const text = `PRAGMA features := subQuery\nFEATURES(a b) FROM ('a' | "b" & \`c{_.x}{U+41}\`) & KEY > 5/${'.'.repeat(43)}-0 &
    TIME <= 2021-01-01T10:00:00.123+01:00 & from(2020-01-01Z) & TIME > 3D ago & appId(com.example) ORDER DESC -- comment
    FILTER !(_.a['x y'][0] ?? NULL = 1.5) & IsDefined((FROM [1, ...x] END)[0]) LIMIT 10 LET y := { a: 1 [4]: 2, ['b']: -3 }
    AGGREGATE { n: SUM(1), l: LAST(CASE _ > 1 => KEY(_) CASE TRUE => TIME(2020-01-01Z) ENDCASE) } SELECT y, TAGS(_) END`
  assert.equal(readCounted(text), undefined)
  for (let length = 0; length < text.length; length++) readCounted(text.slice(0, length))
})
