import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import type { StreamKey } from '../../../src/protocol/index.ts'
import type { StreamHead } from '../../../src/replication/index.ts'
import { Removals } from '../../../src/swarm/exchange/removals.ts'
import { virtualRuntime } from '../../support/virtual-runtime.ts'

const own = new Uint8Array(32).fill(1)
const streamOf = (number: number, node = own) => ({ node, number }) as StreamKey

function opened() {
  const { timers } = virtualRuntime()
  const told: string[] = []
  const failures: string[] = []
  const state = { isBroken: false }
  const removals = new Removals({
    log: {
      headOf: async ({ number }) => {
        if (state.isBroken) throw new Error('the log cannot be read')
        return { number } as StreamHead
      },
      records: async () => ({ redactions: [] }),
    },
    node: own,
    timers,
    removed: (_, { stream, redactions }) => told.push(`${stream.number}: ${redactions.join(' ')}`),
    forgot: ({ number }) => told.push(`${number} forgotten`),
    onFailure: (error) => failures.push(String(error)),
  })
  return { removals, timers, told, failures, state }
}

test('peers are told of a removal after a failed read, with all redactions since', async () => {
  const { removals, timers, told, failures, state } = opened()
  state.isBroken = true
  await removals.add(streamOf(0), new Uint8Array([1]))
  await removals.add(streamOf(0), new Uint8Array([2]))
  await removals.add(streamOf(3, new Uint8Array(32)), undefined)
  assert.deepEqual([told, failures.length], [[], 3])
  state.isBroken = false
  timers.advance(limits.failureRetryMs)
  await new Promise(setImmediate)
  assert.deepEqual(told.toSorted(), ['0: 1 2', '3 forgotten'])
  await removals.add(streamOf(0), new Uint8Array([3]))
  assert.deepEqual([told.at(-1), timers.pending], ['0: 3', 0])
})

test('nothing is tried again after the end', async () => {
  const { removals, timers, failures, state } = opened()
  state.isBroken = true
  await removals.add(streamOf(0), undefined)
  removals.close()
  assert.deepEqual([failures.length, timers.pending], [1, 0])
})
