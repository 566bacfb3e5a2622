import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { tuning } from '../../src/base/tuning.ts'
import { TransferThrottle } from '../../src/store/blocks/transfer-throttle.ts'

const piece = format.fileChunkBytes
const pauseMs = piece / tuning.fileBytesPerMs

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

async function move(throttle: TransferThrottle, bytes: number): Promise<{ readonly passed: boolean }> {
  const state = { passed: false }
  throttle.pass(bytes).then(() => {
    state.passed = true
  })
  await settled()
  return state
}

test('transfers are not throttled while nothing is published', async () => {
  const pauses = new Pauses()
  const throttle = new TransferThrottle(() => 7, pauses.begin)
  for (let i = 0; i < 10; i++) assert.ok((await move(throttle, piece)).passed)
  assert.deepEqual(pauses.lengths, [])
})

test('a transfer after a publish pauses in proportion to its size', async () => {
  const pauses = new Pauses()
  let published = 0
  const throttle = new TransferThrottle(() => published, pauses.begin)
  published++
  const moved = await move(throttle, 4 * piece)
  assert.ok(!moved.passed)
  assert.deepEqual(pauses.lengths, [4 * pauseMs])
  await pauses.endFirst()
  assert.ok(moved.passed)
  assert.ok((await move(throttle, 4 * piece)).passed, 'nothing was published since')
})

test('the bytes of small transfers add up to one pause', async () => {
  const pauses = new Pauses()
  let published = 0
  const throttle = new TransferThrottle(() => published, pauses.begin)
  published++
  for (let i = 0; i < 3; i++) assert.ok((await move(throttle, piece / 4)).passed)
  const last = await move(throttle, piece / 4)
  assert.ok(!last.passed)
  assert.deepEqual(pauses.lengths, [pauseMs])
  await pauses.endFirst()
  assert.ok(last.passed)
})

test('concurrent transfers pause one after the other', async () => {
  const pauses = new Pauses()
  let published = 0
  const throttle = new TransferThrottle(() => published, pauses.begin)
  published++
  const movers = [await move(throttle, piece), await move(throttle, piece), await move(throttle, piece)]
  for (let ended = 0; ended < movers.length; ended++) {
    assert.equal(movers.filter(({ passed }) => passed).length, ended)
    assert.equal(pauses.lengths.length, ended + 1)
    await pauses.endFirst()
  }
  assert.ok(movers.every(({ passed }) => passed))
  assert.ok((await move(throttle, piece)).passed, 'all pauses are over, and nothing was published since')
})
