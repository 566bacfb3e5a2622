import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { MessageStream, Stream, StreamMuxer } from '@libp2p/interface'
import { multiaddrConnectionPair } from '@libp2p/utils'
import { tuning } from '../../../src/base/tuning.ts'
import { boundedYamux } from '../../../src/swarm/host/muxer.ts'
import { eventually } from './hosts.ts'

interface Ends {
  readonly sender: Stream
  /** Messages that the receiving connection has sent, and the bytes its stream has got. */
  readonly counted: { sent: number; received: number }
}

/** Two muxers, with a stream between them. */
async function connect(): Promise<Ends> {
  const [near, far] = multiaddrConnectionPair()
  const counted = { sent: 0, received: 0 }
  const [local, remote] = [muxerOn(near), muxerOn(countSent(far, counted))]
  const opened = once(remote as unknown as EventTarget, 'stream') as Promise<[CustomEvent<Stream>]>
  const sender = await local.createStream()
  const [{ detail }] = await opened
  detail.addEventListener('message', ({ data }) => {
    counted.received += data.byteLength
  })
  return { sender, counted }
}

function muxerOn(connection: MessageStream): StreamMuxer {
  return boundedYamux()().createStreamMuxer(connection)
}

function countSent<T extends MessageStream>(connection: T, counted: { sent: number }): T {
  const send = connection.send.bind(connection)
  connection.send = (data) => {
    counted.sent++
    return send(data)
  }
  return connection
}

test('small messages are not answered with window updates', async () => {
  const { sender, counted } = await connect()
  for (let i = 0; i < 100; i++) sender.send(Buffer.alloc(300))
  await eventually(() => counted.received === 30_000)
  // One opens the stream.
  assert.ok(counted.sent <= 1, `${counted.sent} frames were sent back`)
})

test('a sender that uses the window many times is never held up', async () => {
  const { sender, counted } = await connect()
  const total = 20 * tuning.streamWindowBytes
  const size = 50_000
  for (let sent = 0; sent < total; sent += size)
    if (!sender.send(Buffer.alloc(Math.min(size, total - sent)))) await sender.onDrain()
  await eventually(() => counted.received === total)
  assert.ok(counted.sent <= 2 * 20 + 1, `${counted.sent} frames were sent back`)
})
