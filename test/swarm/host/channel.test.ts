import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Stream } from '@libp2p/interface'
import { limits } from '../../../src/base/limits.ts'
import { ChannelStream } from '../../../src/swarm/host/channel.ts'
import { virtualRuntime } from '../../support/virtual-runtime.ts'

/** A channel over a stream whose bytes the test makes arrive. */
function opened() {
  const { clock } = virtualRuntime()
  const stream = Object.assign(new EventTarget(), { readStatus: 'paused', pause: () => {}, resume: () => {} })
  const channel = new ChannelStream('sync', stream as unknown as Stream, clock)
  const messages: Buffer[] = []
  const ignore = (): void => {}
  const message = (bytes: Buffer): void => void messages.push(bytes)
  channel.start({
    bytesArrived: ignore,
    message,
    sent: ignore,
    queueChanged: ignore,
    unreadChanged: ignore,
    ended: ignore,
    malformed: ignore,
    lost: ignore,
  })
  const arrive = (bytes: Uint8Array): void =>
    void stream.dispatchEvent(Object.assign(new Event('message'), { data: bytes }))
  return { channel, clock, arrive, messages, stalled: () => channel.stalled(clock.steadyMs()) }
}

test('a message over a slow link is waited for as long as bytes of it arrive', () => {
  const { clock, arrive, messages, stalled } = opened()
  arrive(Buffer.of(100))
  for (let i = 0; i < 99; i++) {
    clock.advance(limits.incompleteMessageMs)
    assert.equal(stalled(), undefined)
    arrive(Buffer.of(i))
  }
  clock.advance(limits.incompleteMessageMs)
  arrive(Buffer.of(99))
  clock.advance(10 * limits.incompleteMessageMs)
  assert.deepEqual([stalled(), messages.length], [undefined, 1])
})

test('a message of which no more bytes arrive closes the session', () => {
  const { clock, arrive, stalled } = opened()
  arrive(Buffer.of(100, 1))
  clock.advance(limits.incompleteMessageMs + 1)
  assert.equal(stalled(), 'stalled')
})
