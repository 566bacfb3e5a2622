import { test } from 'node:test'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'
import { interleavings, OrderCheck } from './order/check.ts'

test('queries and subscriptions follow the total order, however late events arrive', async (t) => {
  const check = new OrderCheck(temporaryFolder(t))
  await fc.assert(
    fc.asyncProperty(interleavings, (one) => check.check(one)),
    { numRuns: 300 },
  )
})
