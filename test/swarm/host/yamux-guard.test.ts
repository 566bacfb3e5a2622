import assert from 'node:assert/strict'
import { test } from 'node:test'
import { YamuxGuard } from '../../../src/swarm/host/yamux-guard.ts'
import * as fc from '../../support/property.ts'
import { yamuxHeader } from './raw-peer.ts'

const frames = fc.array(
  fc.record({ stream: fc.integer({ min: 1, max: 9 }), length: fc.integer({ min: 0, max: 600 }) }),
  {
    maxLength: 20,
  },
)

/** Feeds the bytes in pieces. Returns the message of the error, if there is one. */
function problemOf(guard: YamuxGuard, bytes: Buffer, cut: number): string | undefined {
  try {
    for (let at = 0; at < bytes.length; at += cut) guard.check(bytes.subarray(at, at + cut))
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

test('a guard finds the first frame that is too large, wherever the bytes are cut', () => {
  fc.assert(
    fc.property(frames, fc.integer({ min: 1, max: 100 }), (sent, cut) => {
      const bytes = Buffer.concat(
        sent.flatMap(({ stream, length }) => [yamuxHeader(0, 0, stream, length), Buffer.alloc(length, 0xff)]),
      )
      const tooLarge = sent.find(({ length }) => length > 500)
      const expected = tooLarge && `a frame of ${tooLarge.length} bytes; 500 are allowed`
      assert.equal(problemOf(new YamuxGuard(500, 10), bytes, cut), expected)
    }),
  )
})

test('a guard counts streams that are opened, and not pings or window updates', () => {
  const ping = yamuxHeader(2, 1, 0, 7)
  const update = yamuxHeader(1, 0, 3, 2 ** 31)
  const opened = Array.from({ length: 10 }, (_, i) => yamuxHeader(1, 1, 2 * i + 1, 0))
  const allowed = Buffer.concat(opened.flatMap((open) => [ping, open, update]))
  const guard = new YamuxGuard(500, 10)
  assert.equal(problemOf(guard, allowed, 7), undefined)
  assert.equal(problemOf(guard, yamuxHeader(0, 1, 99, 0), 7), 'more than 10 streams')
})
