import assert from 'node:assert/strict'
import { type AddressInfo, connect, createServer } from 'node:net'
import { test } from 'node:test'
import { type ConnectionTuple, loopbackPeerUser, peerUserIn } from '../../../src/admin/access/loopback-peer.ts'

const head = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'
const row = (local: string, remote: string, state = '01', user = '1000', inode = '4711'): string =>
  `   0: ${local} ${remote} ${state} 00000000:00000000 00:00000000 00000000  ${user}        0 ${inode} 1 0000000000000000`

const tuple: ConnectionTuple = {
  localAddress: '127.0.0.1',
  localPort: 4458,
  remoteAddress: '127.0.0.1',
  remotePort: 50000,
}
const [client, server] = ['0100007F:C350', '0100007F:116A']

test('the owner of the other end of a connection is found by both addresses', () => {
  const tables = [head, row(server, client, '01', '0'), row(client, '0100007F:116B', '01', '0'), row(client, server)]
  assert.equal(peerUserIn(tables.join('\n'), tuple, 'LE'), 1000)
  assert.equal(peerUserIn(row('7F000001:C350', '7F000001:116A'), tuple, 'BE'), 1000)
  assert.equal(peerUserIn(row(client, server), { ...tuple, remotePort: 50001 }, 'LE'), undefined)
})

test('a client that uses IPv6 is found, also when it has connected to an IPv4 address', () => {
  const zeros = '0'.repeat(16)
  const mapped = row(`${zeros}FFFF00000100007F:C350`, `${zeros}FFFF00000100007F:116A`)
  assert.equal(peerUserIn(mapped, tuple, 'LE'), 1000)
  const six = { ...tuple, localAddress: '::1', remoteAddress: '::1' }
  const own = `${'0'.repeat(24)}01000000`
  assert.equal(peerUserIn(row(`${own}:C350`, `${own}:116A`), six, 'LE'), 1000)
})

test('a socket that was closed, which the system lists as one of root, has no owner', () => {
  for (const state of ['04', '05', '06', '08', '09'])
    assert.equal(peerUserIn(row(client, server, state, '0', '0'), tuple, 'LE'), undefined)
  assert.equal(peerUserIn(row(client, server, '01', '0', '0'), tuple, 'LE'), undefined)
})

test('malformed tables have no owner', () => {
  for (const text of ['', 'x', head, row(client, server, '01', 'x'), `0: ${client} ${server} 01`])
    assert.equal(peerUserIn(text, tuple, 'LE'), undefined, text)
})

test('the system tells the user of a real connection', { skip: process.platform !== 'linux' }, async (t) => {
  for (const host of ['127.0.0.1', '::1']) {
    const listener = createServer()
    t.after(() => listener.close())
    await new Promise<void>((resolve) => listener.listen(0, host, resolve))
    const accepted = new Promise<ConnectionTuple>((resolve) =>
      listener.once('connection', (socket) => {
        t.after(() => socket.destroy())
        const { localAddress = '', localPort = 0, remoteAddress = '', remotePort = 0 } = socket
        resolve({ localAddress, localPort, remoteAddress, remotePort })
      }),
    )
    const socket = connect((listener.address() as AddressInfo).port, host)
    t.after(() => socket.destroy())
    assert.equal(await loopbackPeerUser(await accepted), process.getuid?.())
  }
  assert.equal(await loopbackPeerUser({ ...tuple, remoteAddress: '10.0.0.1' }), undefined)
})
