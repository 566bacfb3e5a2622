import { equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type BodyHolder, BodyReader, ClientDisconnected } from '../../src/api/body.ts'
import { ShoalError } from '../../src/base/errors.ts'
import { systemTimers } from '../../src/runtime/timers.ts'
import { collectGarbage } from '../support/collect-garbage.ts'

/** Memory accounting without a limit. */
const unlimited: BodyHolder = {
  charge: () => true,
  refusal: new ShoalError('ERR_SERVICE_OVERLOADED', 'never'),
  receiveBody: () => () => {},
}

/** Reads a body that is sent in chunks, with a disconnect before its end unless `isWhole`. */
async function read(t: TestContext, chunks: readonly Buffer[], limit: number, isWhole: boolean) {
  const reader = new BodyReader(10_000, systemTimers)
  const received: WeakRef<Buffer>[] = []
  const seen = Promise.withResolvers<{ incoming: IncomingMessage; body: Promise<number> }>()
  const server = createServer((incoming, response: ServerResponse) => {
    incoming.on('data', (chunk: Buffer) => received.push(new WeakRef(chunk)))
    const body = reader.read(incoming, response, limit, unlimited).then(({ length }) => length)
    body.finally(() => response.end()).catch(() => {})
    seen.resolve({ incoming, body })
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST' }).on('error', () => {})
  for (const [i, chunk] of chunks.entries()) {
    outgoing.write(chunk)
    const { incoming } = await seen.promise
    while (received.length <= i && !incoming.destroyed) await new Promise(setImmediate)
  }
  if (isWhole) outgoing.end()
  else outgoing.destroy()
  return { ...(await seen.promise), received }
}

/** How many buffers survive garbage collection. The connection may hold some for a few turns of the event loop. */
async function leaked(received: readonly WeakRef<Buffer>[]): Promise<number> {
  for (let turn = 0; ; turn++) {
    await new Promise(setImmediate)
    collectGarbage()
    const left = received.filter((chunk) => chunk.deref() !== undefined).length
    if (left === 0 || turn === 20) return left
  }
}

const chunks = Array.from({ length: 3 }, () => Buffer.alloc(40_000, 'x'))

test('a request that outlives its body does not leak the body', async (t) => {
  const { incoming, body, received } = await read(t, chunks, 1e6, true)
  equal(await body, 120_000)
  equal(await leaked(received), 0)
  equal(incoming.listenerCount('end'), 0)
})

test('a request whose client disconnects does not leak its body', async (t) => {
  const { incoming, body, received } = await read(t, chunks, 1e6, false)
  await rejects(body, ClientDisconnected)
  equal(await leaked(received), 0)
  equal(incoming.listenerCount('end'), 0)
})

test('a request with a body that is too large does not leak it', async (t) => {
  const { body, received } = await read(t, chunks, 1e5, true)
  await rejects(body, /100000/)
  // The last chunk was not accepted, and still belongs to Node.
  equal(await leaked(received.slice(0, 2)), 0)
})

test('an unread request body is drained after the response, so that the client can send all of it', async (t) => {
  const reader = new BodyReader(10_000, systemTimers)
  const server = createServer(async (incoming, response) => {
    for await (const chunk of reader.stream(incoming, response)) {
      response.end(String(chunk.length > 0))
      break
    }
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST' })
  const responded = once(outgoing, 'response') as Promise<[IncomingMessage]>
  for (let sent = 0; sent < 8; sent++)
    await new Promise<void>((resolve, reject) => {
      outgoing.write(Buffer.alloc(2 ** 20), (error) => (error ? reject(error) : resolve()))
    })
  outgoing.end()
  const [response] = await responded
  equal((await response.toArray()).join(''), 'true')
})
