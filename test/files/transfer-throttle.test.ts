import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { tuning } from '../../src/base/tuning.ts'
import { GivingWay } from '../../src/files/transfer-throttle.ts'

const piece = format.fileChunkBytes
const restMs = piece / tuning.fileBytesPerMs

/** Pauses that last until the test ends them. */
class Pauses {
  /** The requested durations. */
  readonly lengths: number[] = []
  readonly #ends: (() => void)[] = []

  readonly begin = (ms: number): Promise<void> => {
    this.lengths.push(ms)
    return new Promise((resolve) => this.#ends.push(resolve))
  }

  async endFirst(): Promise<void> {
    this.#ends.shift()?.()
    await settled()
  }
}

/** Resolved when only pauses are pending. */
async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await Promise.resolve()
}

async function move(givingWay: GivingWay, bytes: number): Promise<{ readonly passed: boolean }> {
  const state = { passed: false }
  givingWay.pass(bytes).then(() => {
    state.passed = true
  })
  await settled()
  return state
}

test('transfers are not throttled while nothing is published', async () => {
  const rests = new Pauses()
  const givingWay = new GivingWay(() => 7, rests.begin)
  for (let i = 0; i < 10; i++) assert.ok((await move(givingWay, piece)).passed)
  assert.deepEqual(rests.lengths, [])
})

test('a transfer after a publish pauses in proportion to its size', async () => {
  const rests = new Pauses()
  let published = 0
  const givingWay = new GivingWay(() => published, rests.begin)
  published++
  const moved = await move(givingWay, 4 * piece)
  assert.ok(!moved.passed)
  assert.deepEqual(rests.lengths, [4 * restMs])
  await rests.endFirst()
  assert.ok(moved.passed)
  assert.ok((await move(givingWay, 4 * piece)).passed, 'nothing was published since')
})

test('the bytes of small transfers add up to one pause', async () => {
  const rests = new Pauses()
  let published = 0
  const givingWay = new GivingWay(() => published, rests.begin)
  published++
  for (let i = 0; i < 3; i++) assert.ok((await move(givingWay, piece / 4)).passed)
  const last = await move(givingWay, piece / 4)
  assert.ok(!last.passed)
  assert.deepEqual(rests.lengths, [restMs])
  await rests.endFirst()
  assert.ok(last.passed)
})

test('concurrent transfers pause one after the other', async () => {
  const rests = new Pauses()
  let published = 0
  const givingWay = new GivingWay(() => published, rests.begin)
  published++
  const movers = [await move(givingWay, piece), await move(givingWay, piece), await move(givingWay, piece)]
  for (let rested = 0; rested < movers.length; rested++) {
    assert.equal(movers.filter(({ passed }) => passed).length, rested)
    assert.equal(rests.lengths.length, rested + 1)
    await rests.endFirst()
  }
  assert.ok(movers.every(({ passed }) => passed))
  assert.ok((await move(givingWay, piece)).passed, 'all pauses are over, and nothing was published since')
})
