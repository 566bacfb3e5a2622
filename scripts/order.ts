// `npm run order [-- --interleavings N] [--seed S]`: delivers events of several nodes in random interleavings, and
// compares queries and subscriptions with a naive implementation of the total order.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { interleavings, OrderCheck } from '../test/events/order/check.ts'
import * as fc from '../test/support/property.ts'

const { values } = parseArgs({
  options: {
    interleavings: { type: 'string', default: '100000' },
    seed: { type: 'string', default: String(Date.now() | 0) },
  },
})
const [count, seed] = [Number(values.interleavings), Number(values.seed)]
if (!Number.isSafeInteger(count) || count < 1)
  throw new Error(`--interleavings ${values.interleavings}: a number from 1 on`)
if (!Number.isSafeInteger(seed)) throw new Error(`--seed ${values.seed}: a whole number`)

const folder = mkdtempSync(join(tmpdir(), 'shoal-order-'))
const check = new OrderCheck(folder)
let done = 0
console.log(`--interleavings ${count} --seed ${seed}`)
try {
  await fc.assert(
    fc.asyncProperty(interleavings, async (one) => {
      await check.check(one)
      done++
      if (done % 1000 === 0 && process.stdout.isTTY) process.stdout.write(`\r${done} of ${count}`)
    }),
    { numRuns: count, seed },
  )
  console.log(`${process.stdout.isTTY ? '\r' : ''}${done} interleavings, all as the definition says`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
