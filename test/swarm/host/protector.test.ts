import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import type { Stream } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'
import { ciphersInUse } from '../../../src/swarm/host/protected-connection.ts'
import { eventually, TestHost } from './hosts.ts'
import { rawPeer } from './raw-peer.ts'

/** The test vector of docs/protocol.md, computed with another implementation of XSalsa20. */
const vector = {
  swarmKey: 'this is 32-byte key for xsalsa20',
  nonce: '24-byte nonce for xsalsa',
  plain: '\x13/multistream/1.0.0\n\x07/noise\n',
  encrypted: '5b67440a876bdc5cc21fe401f6fa76d48c90402ceae7db8a8d3ab582',
}

test('the first bytes of a connection are those of the standard', async (t) => {
  let received = Buffer.alloc(0)
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write(Buffer.alloc(24, 7))
    socket.on('data', (bytes) => {
      received = Buffer.concat([received, bytes])
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const random = { bytes: () => Buffer.from(vector.nonce) }
  const swarmKey = Buffer.from(vector.swarmKey).toString('base64')
  const host = await TestHost.start(t, { swarmKey, runtime: { ...systemRuntime, random } })
  const { port } = server.address() as { port: number }
  const dialled = host.host.dial(host.name, `/ip4/127.0.0.1/tcp/${port}`, new AbortController().signal)
  const expected = vector.encrypted.length / 2
  await eventually(() => received.length >= 24 + expected)
  for (const socket of sockets) socket.destroy()
  await assert.rejects(dialled)
  assert.equal(received.subarray(0, 24).toString(), vector.nonce)
  assert.equal(received.subarray(24, 24 + expected).toString('hex'), vector.encrypted)
})

test('eight parallel streams of bulk data arrive complete, and all ciphers are released', async (t) => {
  const count = 8
  const bytesPerStream = 16 * 1024 * 1024
  const before = ciphersInUse.count
  const [from, to] = [await rawPeer(t), await rawPeer(t, undefined, ['/ip4/127.0.0.1/tcp/0'])]
  const sums = new Map<string, { bytes: number; sum: number }>()
  await to.handle('/bulk/1', (stream) => {
    const total = { bytes: 0, sum: 0 }
    sums.set(stream.id, total)
    stream.addEventListener('message', ({ data }) => {
      for (const piece of data instanceof Uint8Array ? [data] : data) {
        total.bytes += piece.length
        total.sum += piece.at(0) ?? 0
      }
    })
  })
  const [address] = to.getMultiaddrs()
  assert.ok(address !== undefined)
  const connection = await from.dial(multiaddr(address.toString()))
  const streams = await Promise.all(Array.from({ length: count }, () => connection.newStream('/bulk/1')))
  await Promise.all(streams.map((stream) => sendAll(stream, bytesPerStream)))
  await eventually(
    () => sums.size === count && [...sums.values()].every(({ bytes }) => bytes === bytesPerStream),
    60_000,
  )
  assert.equal(connection.status, 'open')
  assert.equal(ciphersInUse.count, before + 4)
  await from.stop()
  await eventually(() => ciphersInUse.count === before)
})

/** Sends everything in pieces much larger than a slice of the cipher. */
async function sendAll(stream: Stream, bytes: number): Promise<void> {
  const piece = Buffer.alloc(1024 * 1024, 3)
  for (let sent = 0; sent < bytes; sent += piece.length) {
    const idle = new Promise((resolve) => stream.addEventListener('idle', resolve, { once: true }))
    stream.send(piece)
    await idle
  }
}
