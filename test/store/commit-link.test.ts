import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { KeyPair } from '../../src/identity/index.ts'
import type { AppendedFrames } from '../../src/replication/index.ts'
import { CommitReceiver, CommitSender, newCommitLink } from '../../src/store/threads/writer/commit-link.ts'
import { openLog } from '../support/log.ts'
import { until } from '../support/process.ts'
import { numbered, requestOf } from './acceptance/support.ts'

test('frames that the listener has not received yet are bounded: later commits are only announced', async (t) => {
  const { writer } = openLog(t)
  const [link, end] = newCommitLink()
  const sender = new CommitSender(link)
  const received: AppendedFrames[] = []
  const receiver = new CommitReceiver(end, (appended) => void received.push(...appended))
  t.after(() => {
    sender.close()
    receiver.close()
  })
  writer.collectFrames(() => sender.unread)
  const payload = JSON.stringify('x'.repeat(limits.unreadFrameBytes / 4))
  const append = (): void => {
    writer.append([requestOf([{ payload }])])
    sender.post(writer.takeAppended())
  }
  // This thread does not yield, so nothing is received.
  for (let i = 0; i < 6; i++) append()
  assert.ok(sender.unread > limits.unreadFrameBytes / 2 && sender.unread <= limits.unreadFrameBytes)
  await until(
    () => received.length === 6 || undefined,
    () => `${received.length} commits were received`,
  )
  assert.deepEqual(
    received.map(({ records }) => records?.length),
    [1, 1, 1, undefined, undefined, undefined],
  )
  assert.equal(sender.unread, 0)
  append()
  await until(
    () => received.length === 7 || undefined,
    () => `${received.length} commits were received`,
  )
  assert.deepEqual([received[6]?.first, received[6]?.records?.length], [6, 1])
})

test('a commit signs no head before its frames are taken, and without a listener never', (t) => {
  const { writer } = openLog(t)
  const sign = t.mock.method(KeyPair.prototype, 'sign')
  writer.append([requestOf(numbered(3))])
  assert.deepEqual(writer.takeAppended(), [])
  writer.collectFrames(() => 0)
  writer.append([requestOf(numbered(3))])
  assert.equal(sign.mock.callCount(), 0)
  const [piece] = writer.takeAppended()
  assert.deepEqual([piece?.first, piece?.count, sign.mock.callCount()], [3, 6, 1])
  assert.equal(writer.ownHeads()[0]?.head, piece?.head)
  assert.equal(sign.mock.callCount(), 1)
  writer.collectFrames(undefined)
  writer.append([requestOf(numbered(3))])
  assert.deepEqual(writer.takeAppended(), [])
  assert.equal(sign.mock.callCount(), 1)
})

test('a commit that has failed is not announced', (t) => {
  const { writer } = openLog(t)
  writer.collectFrames(() => 0)
  writer.append([requestOf(numbered(3))])
  const invalid = requestOf(numbered(200))
  invalid.spans[4 * 199 + 3] = invalid.source.length + 1
  assert.throws(() => writer.append([invalid]), /within its source/)
  writer.append([requestOf(numbered(2, 3))])
  assert.deepEqual(
    writer.takeAppended().map(({ first, count, records }) => [first, count, records?.length]),
    [[0, 5, 2]],
  )
})

test('events are not announced while the clock is wrong', (t) => {
  let time = 1
  const { writer } = openLog(t, () => time)
  writer.collectFrames(() => 0)
  writer.append([requestOf(numbered(3))])
  time = -1
  assert.deepEqual(writer.takeAppended(), [])
  time = 1
  writer.append([requestOf(numbered(3))])
  assert.deepEqual(
    writer.takeAppended().map(({ first }) => first),
    [3],
  )
})
