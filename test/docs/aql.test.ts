import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { eventsOfStream } from '../../src/aql/eval/memory-events.ts'
import { features } from '../../src/aql/features.ts'
import { AqlError, checkFeatures, parseQuery } from '../../src/aql/index.ts'
import { parseEvents } from '../../src/aql/inline-events.ts'
import { exprsIn } from '../../src/aql/walk.ts'
import { linesOf, now, stream } from '../aql/eval/run.ts'
import { kindsIn, numberOfKinds } from '../aql/kinds.ts'

const page = readFileSync(new URL('../../docs/aql.md', import.meta.url), 'utf8')

interface Example {
  readonly query: string
  readonly answer: readonly string[]
}

/** The `aql` blocks of the page: a query, followed by its result lines. */
function examples(): readonly Example[] {
  return blocks('aql').map((block) => {
    const lines = block.split('\n')
    const first = lines.findIndex((line) => /^[→⚠✖]/u.test(line))
    return { query: lines.slice(0, first).join('\n'), answer: lines.slice(first) }
  })
}

function blocks(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\\n\`\`\``, 'gm'))].map(
    ([, block = '']) => block,
  )
}

function resultOf(text: string): readonly string[] {
  try {
    const query = parseQuery(text, { now })
    const problem = checkFeatures(query, 'query')
    if (problem !== undefined) return [`✖ ${problem.message}`]
    const events = eventsOfStream(parseEvents(blocks('ndjson')[0] ?? '', now), stream)
    return linesOf(query, events).flatMap(shown)
  } catch (thrown) {
    if (!(thrown instanceof AqlError)) throw thrown
    return thrown.detail.split('\n').map((line) => `✖ ${line}`)
  }
}

/** The line of a message. Payloads are shown verbatim, since `2.0` is not `2`. */
function shown(line: string): readonly string[] {
  const { type, severity, message } = JSON.parse(line) as { type: string; severity?: string; message?: string }
  if (type === 'diagnostic') return [`${severity === 'warning' ? '⚠' : '✖'} ${message}`]
  return type === 'event' ? [`→ ${/"payload":(.*)\}$/s.exec(line)?.[1]}`] : []
}

test('every AQL example has the result that the page shows', () => {
  assert.ok(examples().length > 15)
  for (const { query, answer } of examples()) assert.deepEqual(resultOf(query), answer, query)
})

test('the examples cover every kind of AST node, operator and aggregator', () => {
  const queries = examples().flatMap(({ query }) => {
    try {
      return [parseQuery(query, { now })]
    } catch {
      return []
    }
  })
  const kinds = new Set(queries.flatMap(kindsIn))
  assert.equal(kinds.size, numberOfKinds, [...kinds].join(' '))
  const exprs = queries.flatMap((query) => [...exprsIn(query)])
  const operators = exprs.flatMap((expr) => (expr.kind === 'chain' ? expr.rest.map(({ operator }) => operator) : []))
  const binary = ['??', '|', '~', '&', '=', '!=', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '^']
  assert.deepEqual([...new Set(operators)].sort(), binary.sort())
  const aggregators = exprs.flatMap((expr) => (expr.kind === 'aggregator' ? [expr.operator] : []))
  assert.deepEqual([...new Set(aggregators)].sort(), ['FIRST', 'LAST', 'MAX', 'MIN', 'PRODUCT', 'SUM'])
})

test('the page names every feature', () => {
  for (const feature of features) assert.match(page, new RegExp(`^\\| \`${feature}\` `, 'm'))
})
