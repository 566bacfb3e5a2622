import { equal, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { type BodyHolder, BodyReader, ClientGone } from '../../src/api/body.ts'
import { ShoalError } from '../../src/base/errors.ts'
import { systemTimers } from '../../src/runtime/timers.ts'
import { collectGarbage } from '../support/collect-garbage.ts'

/** A holder that is never refused. */
const unlimited: BodyHolder = {
  charge: () => true,
  refusal: new ShoalError('ERR_SERVICE_OVERLOADED', 'never'),
  receiveBody: () => () => {},
}

/** Has a body read that comes in pieces, of which the last one may be missing. Answers the request with what it held. */
async function read(t: TestContext, pieces: readonly Buffer[], limit: number, isWhole: boolean) {
  const reader = new BodyReader(10_000, systemTimers)
  const parts: WeakRef<Buffer>[] = []
  const seen = Promise.withResolvers<{ incoming: IncomingMessage; body: Promise<number> }>()
  const server = createServer((incoming, response: ServerResponse) => {
    incoming.on('data', (part: Buffer) => parts.push(new WeakRef(part)))
    const body = reader.read(incoming, response, limit, unlimited).then(({ length }) => length)
    body.finally(() => response.end()).catch(() => {})
    seen.resolve({ incoming, body })
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST' }).on('error', () => {})
  for (const [i, piece] of pieces.entries()) {
    outgoing.write(piece)
    const { incoming } = await seen.promise
    while (parts.length <= i && !incoming.destroyed) await new Promise(setImmediate)
  }
  if (isWhole) outgoing.end()
  else outgoing.destroy()
  return { ...(await seen.promise), parts }
}

/** How many are still there when the garbage is collected; the connection may hold some for a few turns. */
async function kept(parts: readonly WeakRef<Buffer>[]): Promise<number> {
  for (let turn = 0; ; turn++) {
    await new Promise(setImmediate)
    collectGarbage()
    const left = parts.filter((part) => part.deref() !== undefined).length
    if (left === 0 || turn === 20) return left
  }
}

const pieces = Array.from({ length: 3 }, () => Buffer.alloc(40_000, 'x'))

test('a request that stays for longer than its body holds nothing of it', async (t) => {
  const { incoming, body, parts } = await read(t, pieces, 1e6, true)
  equal(await body, 120_000)
  equal(await kept(parts), 0)
  equal(incoming.listenerCount('end'), 0)
})

test('neither does one of a client that has gone', async (t) => {
  const { incoming, body, parts } = await read(t, pieces, 1e6, false)
  await rejects(body, ClientGone)
  equal(await kept(parts), 0)
  equal(incoming.listenerCount('end'), 0)
})

test('neither does one that is too large', async (t) => {
  const { body, parts } = await read(t, pieces, 1e5, true)
  await rejects(body, /100000/)
  // The last one was not taken any more, and is Node's.
  equal(await kept(parts.slice(0, 2)), 0)
})

test('what nobody wants of a body passes, and the client can send all of it', async (t) => {
  const reader = new BodyReader(10_000, systemTimers)
  const server = createServer(async (incoming, response) => {
    for await (const piece of reader.stream(incoming, response)) {
      response.end(String(piece.length > 0))
      break
    }
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const outgoing = request({ port, host: '127.0.0.1', method: 'POST' })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  for (let sent = 0; sent < 8; sent++)
    await new Promise<void>((resolve, reject) => {
      outgoing.write(Buffer.alloc(2 ** 20), (error) => (error ? reject(error) : resolve()))
    })
  outgoing.end()
  const [response] = await answered
  equal((await response.toArray()).join(''), 'true')
})
