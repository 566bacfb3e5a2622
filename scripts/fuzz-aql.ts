// `npm run fuzz:aql -- [--texts N] [--trees N] [--seed S]`: fuzzes the AQL parser. Malformed texts must parse or fail
// in bounded time. Random trees must survive a round trip through printer and parser.
import assert from 'node:assert/strict'
import { parseArgs } from 'node:util'
import { format, print } from '../src/aql/index.ts'
import { readAnywhere } from '../test/aql/anywhere.ts'
import { allCases } from '../test/aql/cases.ts'
import { queries } from '../test/aql/trees.ts'
import * as fc from '../test/support/property.ts'
import { Random } from './crash/random.ts'
import { check } from './fuzz/read.ts'
import { anyText } from './fuzz/texts.ts'

function readArguments(): { texts: number; trees: number; seed: string } {
  const { values } = parseArgs({
    options: {
      texts: { type: 'string', default: '200000' },
      trees: { type: 'string', default: '2000' },
      seed: { type: 'string' },
    },
  })
  const [texts, trees] = [Number(values.texts), Number(values.trees)]
  if (!Number.isSafeInteger(texts) || !Number.isSafeInteger(trees)) throw new Error('--texts and --trees are numbers')
  return { texts, trees, seed: values.seed ?? String(Date.now()) }
}

function progress(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r${text} `)
}

function fuzzTexts(count: number, seed: string): void {
  const random = new Random(seed)
  const [first = '', ...rest] = allCases.flatMap(({ query }) => (typeof query === 'string' ? [query] : []))
  const seeds: readonly [string, ...string[]] = [first, ...rest]
  let read = 0
  let hardest = { effort: 0, text: '' }
  for (let done = 1; done <= count; done++) {
    const text = anyText(random, seeds)
    try {
      const { query, effort } = check(text)
      if (query !== undefined) read++
      if (effort > hardest.effort) hardest = { effort, text }
    } catch (thrown) {
      console.error(`text ${done} of seed ${seed}:\n${JSON.stringify(text)}`)
      throw thrown
    }
    if (done % 10_000 === 0) progress(`${done} texts, ${read} of them queries`)
  }
  console.log(`\n${count} texts, ${read} of them queries; at most ${hardest.effort.toFixed(1)} steps per character`)
}

function fuzzTrees(count: number, seed: string): void {
  let done = 0
  fc.assert(
    fc.property(queries, (query) => {
      assert.deepEqual(readAnywhere(print(query)), { ...query, pragmas: [] })
      assert.deepEqual(readAnywhere(format(query)), query)
      if (++done % 1000 === 0) progress(`${done} trees`)
    }),
    { numRuns: count, seed: new Random(seed).below(2 ** 31) },
  )
  console.log(`\n${count} trees`)
}

const { texts, trees, seed } = readArguments()
console.log(`seed ${seed}`)
if (texts > 0) fuzzTexts(texts, seed)
if (trees > 0) fuzzTrees(trees, seed)
