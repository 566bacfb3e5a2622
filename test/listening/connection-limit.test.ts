import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { ConnectionLimit } from '../../src/listening/connection-limit.ts'
import { until } from '../support/process.ts'

/** Two servers with a shared limit, like a port on two addresses. */
async function servers(t: TestContext, limit: ConnectionLimit): Promise<[Server, Server]> {
  const make = async (): Promise<Server> => {
    const server = createServer((socket) => socket.on('error', () => {}).resume())
    limit.add(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    return server
  }
  return [await make(), await make()]
}

/** Opens a connection, and waits until it is established or closed. */
async function connected(t: TestContext, server: Server): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  socket.on('error', () => {}).resume()
  t.after(() => socket.destroy())
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
  return socket
}

const closed = (socket: Socket): Promise<true> =>
  until(
    () => (socket.destroyed ? true : undefined),
    () => 'the connection is open',
  )

test('connections above the limit of a port are closed at once, on each of its addresses', async (t) => {
  let refused = 0
  const [first, second] = await servers(t, new ConnectionLimit(3, () => refused++))
  const open = [await connected(t, first), await connected(t, second), await connected(t, second)]
  await closed(await connected(t, first))
  await closed(await connected(t, second))
  assert.equal(refused, 2)
  assert.deepEqual(
    open.map(({ destroyed }) => destroyed),
    [false, false, false],
  )
  open[1]?.destroy()
  // Polls with new connections until the server has noticed the closed one.
  await until(
    async () => {
      const before = refused
      const socket = await connected(t, first)
      await new Promise((resolve) => first.getConnections(resolve))
      return refused === before && !socket.destroyed ? true : undefined
    },
    () => 'no connection is possible after one has left',
  )
})

test('an accept error counts as a refused connection and does not crash the process', async (t) => {
  let refused = 0
  const [server] = await servers(t, new ConnectionLimit(3, () => refused++))
  server.emit('error', Object.assign(new Error('accept EMFILE'), { code: 'EMFILE' }))
  assert.equal(refused, 1)
})
