import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsPerCharacter } from '../../scripts/fuzz/read.ts'
import { AqlError, aqlLimits, format, parseQuery, print, usedFeatures } from '../../src/aql/index.ts'
import { readQuery } from '../../src/aql/parse.ts'
import { Reader } from '../../src/aql/text/text-reader.ts'
import { messagesOf } from './eval/run.ts'

const options = { now: 0n }
const mebibyte = 1024 * 1024

/** Parses or rejects a text, and asserts that the work is proportional to its length. */
function parseCounted(text: string): AqlError | undefined {
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

test('a query with ten thousand terms is parsed', () => {
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

test('an object with tens of thousands of keys is evaluated, and of duplicate keys the last wins', () => {
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

test('nesting up to the limit is parsed, and deeper nesting is rejected', () => {
  for (const [open, close] of shapes) {
    // The expression of the outermost SELECT counts as one level.
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

test('two hundred nested queries in parentheses are parsed', () => {
  const query = parseQuery(`FROM 'a' SELECT ${"(FROM 'a' SELECT ".repeat(200)}_${')[0]'.repeat(200)}`, options)
  for (const write of [print, format]) assert.equal(write(parseQuery(write(query), options)), write(query))
})

test('a mebibyte of any token is parsed or rejected in linear time', () => {
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
    parseCounted(filled(text))
    parseCounted(`FROM ${filled(text)}`)
    parseCounted(`FROM 'a' SELECT ${filled(text)}`)
    parseCounted(`FROM 'a' SELECT '${filled(text)}'`)
    parseCounted(`FROM 'a' --${filled(text)}`)
  }
  assert.equal(parseCounted(`FROM 'a' --${filled('x')}`), undefined)
  assert.equal(parseCounted(`FROM 'a' SELECT '${filled('x')}'`), undefined)
  assert.equal(parseCounted(`FROM 'a' ${filled('FILTER TRUE ')}`), undefined)
  assert.equal(parseCounted(`FROM 'a' SELECT x${filled('.a')}`), undefined)
  assert.equal(parseCounted(`FROM appId(${filled('a.')}a)`), undefined)
  assert.equal(parseCounted(`PRAGMA a := ${filled('x')}\nFROM 'a'`), undefined)
})

test('backtracking through nested queries stays linear', () => {
  const deep = "FROM 'a' SELECT ".repeat(200)
  for (const tail of ['1 + ?', '1, ?', 'x FILTER ?', 'x LET a := ?', "'a' & ('b' + ?", 'x[?', '"?', '`{?', 'Foo(?'])
    parseCounted(deep + tail)
  for (const unit of [
    'SELECT(FROM`a`SELECT FROM`a`',
    'SELECT{a:x[FROM`a`',
    "SELECT FROM'a'&('b'&`{FROM'a'",
    'SELECT[FROM`a`SELECT 1,FROM`a`SELECT 1,FROM`a`',
    'SELECT CASE FROM`a`FILTER Foo(FROM`a`',
  ]) {
    parseCounted(`FROM 'a'${unit.repeat(40)}`)
    parseCounted(`FROM 'a'${unit.repeat(40)} SELECT ?`)
  }
  // A failed index may be the key of the next entry.
  parseCounted(`FROM [1] SELECT ${'{a:x['.repeat(40)}?`)
  // A template that is first tried as a tag and then as a value, at every level.
  const templates = "FROM 'a' & ('b' & `{".repeat(60)
  assert.equal(parseCounted(`FROM [1] SELECT ${templates}1${'}` + 1)'.repeat(60)}`), undefined)
})

test('every prefix of a query is parsed or rejected', () => {
  const text = `PRAGMA features := subQuery\nFEATURES(a b) FROM ('a' | "b" & \`c{_.x}{U+41}\`) & KEY > 5/${'.'.repeat(43)}-0 &
    TIME <= 2021-01-01T10:00:00.123+01:00 & from(2020-01-01Z) & TIME > 3D ago & appId(com.example) ORDER DESC -- comment
    FILTER !(_.a['x y'][0] ?? NULL = 1.5) & IsDefined((FROM [1, ...x] END)[0]) LIMIT 10 LET y := { a: 1 [4]: 2, ['b']: -3 }
    AGGREGATE { n: SUM(1), l: LAST(CASE _ > 1 => KEY(_) CASE TRUE => TIME(2020-01-01Z) ENDCASE) } SELECT y, TAGS(_) END`
  assert.equal(parseCounted(text), undefined)
  for (let length = 0; length < text.length; length++) parseCounted(text.slice(0, length))
})
