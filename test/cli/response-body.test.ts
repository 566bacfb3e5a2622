import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { ApiClient } from '../../src/cli/client/api-client.ts'
import { readLines } from '../../src/cli/client/response-body.ts'
import { systemTimers } from '../../src/runtime/timers.ts'
import * as fc from '../support/property.ts'

async function read(chunks: readonly Buffer[], maxBytes: number): Promise<string[]> {
  return await Array.fromAsync(readLines(Readable.from(chunks, { objectMode: true }), maxBytes))
}

function cut(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
}

const text = fc.string({ unit: fc.constantFrom('a', '\n', 'ü', '😀') })

test('the lines do not depend on how a response is split into chunks', async () => {
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), async (lines, size) => {
      assert.deepEqual(await read(cut(Buffer.from(lines), size), 4096), lines.split('\n'))
    }),
  )
})

test('a line above the limit is refused, however many lines there are below it', async () => {
  const lines = Buffer.from('12345678\n'.repeat(100))
  for (const size of [1, 7, 1000]) assert.equal((await read(cut(lines, size), 8)).length, 101)
  const refused = { code: 'ERR_NODE_UNREACHABLE', message: /a line of the answer has more than 8 bytes/ }
  for (const size of [1, 7]) await assert.rejects(read(cut(Buffer.from('1\n123456789'), size), 8), refused)
})

async function connectTo(t: TestContext, listener: RequestListener): Promise<ApiClient> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return await ApiClient.connect(`127.0.0.1:${(server.address() as AddressInfo).port}`, systemTimers)
}

test('a response to signing in of more than 64 KiB is refused', async (t) => {
  for (const status of [200, 500])
    await assert.rejects(
      connectTo(t, (_, response) => void response.writeHead(status).end(' '.repeat(64 * 1024 + 1))),
      (error: Error) => /the answer has more than 65536 bytes/.test(String(error.cause)),
    )
})

test('a response after signing in may be larger', async (t) => {
  const large = ' '.repeat(64 * 1024 + 1)
  const client = await connectTo(t, ({ url }, response) => {
    response.end(url === '/api/v2/auth' ? '{"token":"a"}' : large)
  })
  assert.equal(await client.text('/'), large)
})
