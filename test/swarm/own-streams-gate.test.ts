import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { limits } from '../../src/base/limits.ts'
import { newStoreMarks, type StartMarks } from '../../src/replication/index.ts'
import type { OwnHistory } from '../../src/store/index.ts'
import { OwnStreamsGate } from '../../src/swarm/index.ts'
import { silent } from '../support/api.ts'
import { virtualRuntime } from '../support/virtual-runtime.ts'

class History implements OwnHistory {
  marks: StartMarks
  settled = 0
  failure: Error | undefined

  constructor(found: Partial<StartMarks>) {
    this.marks = { ...newStoreMarks, isAnnounced: true, ...found }
  }

  async startMarks(): Promise<StartMarks> {
    return this.marks
  }

  async markAnnounced(): Promise<void> {}

  async settleOwnStreams(): Promise<void> {
    if (this.failure !== undefined) throw this.failure
    this.settled++
  }
}

async function gateOf(found: Partial<StartMarks>) {
  const runtime = virtualRuntime()
  const history = new History(found)
  const gate = await OwnStreamsGate.open(history, { ...runtime, log: silent })
  return { ...runtime, history, gate }
}

/** Lets promises that are settled already run their callbacks. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
const unclean = { isCleanStop: false }
const restored = { isRestored: true }

const isRefusal =
  (reason: RegExp) =>
  (error: unknown): boolean =>
    error instanceof ShoalError && error.code === 'ERR_OWN_STREAMS_UNCERTAIN' && reason.test(error.message)

test('without a doubt the gate is open, and the store is left alone', async () => {
  const { gate, history, timers } = await gateOf({})
  assert.equal(gate.isOpen, true)
  await gate.wait()
  assert.deepEqual([gate.problem, history.settled, timers.pending], [undefined, 0, 0])
})

test('without a peer the gate opens after five seconds, once the store has settled', async () => {
  const { gate, history, timers } = await gateOf(unclean)
  assert.match(gate.problem ?? '', /not stopped cleanly.*waiting for a connection/)
  const waiting = gate.wait()
  timers.advance(limits.ownPeerMs - 1)
  await settled()
  assert.equal(gate.isOpen, false)
  timers.advance(1)
  await waiting
  assert.deepEqual([gate.isOpen, gate.problem, history.settled, timers.pending], [true, undefined, 1, 0])
})

test('a publish that waits for too long is refused with the reason', async () => {
  const { gate, timers } = await gateOf(restored)
  const waiting = assert.rejects(gate.wait(), isRefusal(/a backup was restored.*accept-restored/))
  timers.advance(limits.publishWaitMs)
  await waiting
  timers.advance(1e6)
  await settled()
  assert.equal(gate.isOpen, false)
})

test('events of a peer are fetched first', async () => {
  const { gate, history } = await gateOf(restored)
  gate.connected('a')
  assert.match(gate.problem ?? '', /waiting for their answer/)
  gate.compared('a', [{ stream: 0, count: 9, is: 'longer' }])
  assert.match(gate.problem ?? '', /: those of stream 0 are being fetched$/)
  gate.adopted(0, 9)
  await gate.wait()
  assert.deepEqual([history.settled, gate.abandoned], [1, []])
})

test('a stream that no peer sends is abandoned', async () => {
  const { gate, timers } = await gateOf(unclean)
  gate.connected('a')
  gate.compared('a', [{ stream: 4, count: 9, is: 'longer' }])
  gate.disconnected('a')
  timers.advance(limits.ownPeerMs)
  await gate.wait()
  assert.deepEqual(gate.abandoned, [4])
})

test('a forked stream does not keep the gate closed', async () => {
  const { gate } = await gateOf(unclean)
  gate.connected('a')
  gate.compared('a', [{ stream: 0, count: 9, is: 'longer' }])
  gate.froze(0)
  await gate.wait()
  assert.deepEqual(gate.abandoned, [])
})

test('the operator accepts a restored backup while publishing waits', async () => {
  const { gate, history, timers } = await gateOf(restored)
  const waiting = gate.wait()
  history.marks = { ...history.marks, isAccepted: true }
  timers.advance(limits.acceptancePollMs)
  await waiting
  assert.deepEqual([gate.isOpen, history.settled, timers.pending], [true, 1, 0])
})

test('while the store fails the gate stays closed, and it is tried again', async () => {
  const { gate, history, timers } = await gateOf(unclean)
  history.failure = new Error('disk full')
  timers.advance(limits.ownPeerMs)
  await settled()
  assert.match(gate.problem ?? '', /is being stored/)
  history.failure = undefined
  timers.advance(limits.diskProbeMs)
  await gate.wait()
  assert.equal(history.settled, 1)
})

test('closing the gate fails what waits, and stops its timers', async () => {
  const { gate, timers } = await gateOf(restored)
  const isShutDown = { code: 'ERR_SHUTTING_DOWN' }
  const waiting = assert.rejects(gate.wait(), isShutDown)
  gate.close()
  await waiting
  await assert.rejects(gate.wait(), isShutDown)
  assert.equal(timers.pending, 0)
})

test('a peer with more of an own stream closes the gate, until its events were adopted', async () => {
  const { gate, history, timers } = await gateOf({})
  gate.connected('a')
  gate.behind('a', { stream: 3, count: 9 })
  assert.deepEqual([gate.isOpen, gate.isInDoubt, gate.openings], [false, false, 0])
  assert.match(
    gate.problem ?? '',
    /^other nodes have newer events of this node: those of stream \d+ are being fetched$/,
  )
  const waiting = gate.wait()
  gate.adopted(3, 9)
  await waiting
  assert.deepEqual([gate.isOpen, gate.openings, history.settled, timers.pending], [true, 1, 1, 0])
})

test('a peer with more of an own stream, found while the store settles, keeps the gate closed', async () => {
  const { gate, timers } = await gateOf(unclean)
  timers.advance(limits.ownPeerMs)
  gate.behind('a', { stream: 3, count: 9 })
  await settled()
  assert.equal(gate.isOpen, false)
  timers.advance(limits.ownPeerMs)
  await gate.wait()
  assert.deepEqual(gate.abandoned, [3])
})
