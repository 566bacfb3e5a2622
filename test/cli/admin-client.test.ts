import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { AdminClient, type AdminClientOptions } from '../../src/cli/client/admin-client.ts'
import { KnownNodes } from '../../src/cli/client/known-nodes.ts'
import type { AdminAddress } from '../../src/cli/client/node-address.ts'
import { formatPublicKey, KeyPair, nodeCertificate, nodeIdOf } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { adminPort, node } from '../support/admin.ts'
import { temporaryFolder } from '../support/folder.ts'

const [anna, bert] = [new KeyPair(Buffer.alloc(32, 2)), new KeyPair(Buffer.alloc(32, 3))]
const certificate = nodeCertificate(node, systemRuntime.random)
const id = nodeIdOf(node.publicKey)

function address(port: number, more: Partial<AdminAddress> = {}): AdminAddress {
  return { scheme: undefined, host: '127.0.0.1', port, node: undefined, ...more }
}

function optionsOf(t: TestContext, more: Partial<AdminClientOptions> = {}): AdminClientOptions {
  const known = new KnownNodes(join(temporaryFolder(t), 'known-nodes'))
  return { user: anna, known, timers: systemRuntime.timers, ...more }
}

async function listening(t: TestContext, server: ReturnType<typeof createTcpServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

test('a client signs in, over plain HTTP or TLS, and out', async (t) => {
  for (const used of [undefined, certificate]) {
    const { at, settings } = await adminPort(t, used)
    const client = await AdminClient.connect(address(at.port), optionsOf(t))
    assert.equal(client.isFirstUser, true)
    const described = await client.request<{ nodeId: string }>({ method: 'GET', path: '/node' })
    assert.equal(described.nodeId, id)
    await client.request({ method: 'PUT', path: '/settings?scope=/admin/displayName', body: 'Press 7' })
    assert.equal(settings.document.admin.displayName, 'Press 7')
    await client.close()
    const again = await AdminClient.connect(address(at.port), optionsOf(t))
    assert.equal(again.isFirstUser, false)
    await again.close()
  }
})

test('a scheme in the address is what is used', async (t) => {
  const [plain, secure] = [await adminPort(t), await adminPort(t, certificate)]
  const ends = { code: 'ERR_NODE_UNREACHABLE' }
  await assert.rejects(AdminClient.connect(address(plain.at.port, { scheme: 'https' }), optionsOf(t)), ends)
  await assert.rejects(AdminClient.connect(address(secure.at.port, { scheme: 'http' }), optionsOf(t)), ends)
  const away = address(4458, { scheme: 'http', host: '192.0.2.1' })
  await assert.rejects(AdminClient.connect(away, optionsOf(t)), { code: 'ERR_INVALID_INPUT', message: /only.*https/ })
})

test('a node with another identity than that in the address is refused before anything is signed', async (t) => {
  const other = nodeIdOf(bert.publicKey)
  for (const used of [undefined, certificate]) {
    const { at, settings } = await adminPort(t, used)
    await assert.rejects(AdminClient.connect(address(at.port, { node: other }), optionsOf(t)), {
      code: 'ERR_NODE_UNREACHABLE',
      message: /additional message: wrong PeerId at 127\.0\.0\.1/,
    })
    assert.deepEqual(settings.document.admin.authorizedUsers, [])
    await (await AdminClient.connect(address(at.port, { node: id }), optionsOf(t))).close()
  }
})

test('a certificate that no node has signed is refused', async (t) => {
  const { cert, key } = nodeCertificate(node, systemRuntime.random)
  // A byte of the signature of the node, which is not covered by what TLS checks here.
  const der = Buffer.from(cert.replace(/-----[^-]+-----/g, ''), 'base64')
  const at = der.indexOf(Buffer.from(node.publicKey)) + 40
  der.writeUInt8(der.readUInt8(at) ^ 1, at)
  const forged = `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`
  const port = await adminPort(t, { key, cert: forged })
  await assert.rejects(AdminClient.connect(address(port.at.port, { scheme: 'https' }), optionsOf(t)), {
    message: /has a certificate that no node has signed/,
  })
})

test('errors of the node keep their code', async (t) => {
  const { at, settings } = await adminPort(t)
  await settings.set(['admin', 'authorizedUsers'], [formatPublicKey(bert.publicKey)], 'test')
  await assert.rejects(AdminClient.connect(address(at.port), optionsOf(t)), {
    code: 'ERR_UNAUTHORIZED',
    message: 'Provided key is not authorized to access the API.',
  })
  const client = await AdminClient.connect(address(at.port), optionsOf(t, { user: bert }))
  await assert.rejects(client.request({ method: 'GET', path: '/settings?scope=/nothing' }), {
    code: 'ERR_SETTINGS_NOT_FOUND_AT_SCOPE',
  })
  for (const method of ['GET', 'DELETE'] as const)
    await assert.rejects(client.request({ method, path: '/settings/history/later?a=b' }), {
      code: 'ERR_UNSUPPORTED',
      message: `The node does not support this request (${method} /settings/history/later): its version is older.`,
    })
  await assert.rejects(client.request({ method: 'POST', path: '/node' }), { code: 'ERR_UNSUPPORTED' })
  await client.close()
})

test('a port where no node answers is unreachable', async (t) => {
  const unreachable = { code: 'ERR_NODE_UNREACHABLE', message: /^unable to reach node, additional message: / }
  await assert.rejects(AdminClient.connect(address(1), optionsOf(t)), { name: 'NotConnected', ...unreachable })
  const closing = await listening(
    t,
    createTcpServer((socket) => socket.destroy()),
  )
  await assert.rejects(AdminClient.connect(address(closing), optionsOf(t)), unreachable)
  const silent = createTcpServer((socket) => t.after(() => socket.destroy()))
  const late = { code: 'ERR_NODE_UNREACHABLE', message: /timeout/ }
  const options = optionsOf(t, { timeoutMs: 50 })
  await assert.rejects(AdminClient.connect(address(await listening(t, silent)), options), late)
  const unknown = { host: 'nowhere.invalid' }
  await assert.rejects(AdminClient.connect(address(4458, unknown), optionsOf(t)), {
    message: 'no addresses found for nowhere.invalid',
  })
})

test('an answer that does not end is refused before signing in', async (t) => {
  const ends = (message: RegExp) => ({ code: 'ERR_NODE_UNREACHABLE', message })
  const endless = createServer((_, response) => {
    const send = (): boolean => response.write(Buffer.alloc(16 * 1024, ' '))
    response.on('drain', send)
    while (send());
  })
  const port = await listening(t, endless)
  await assert.rejects(AdminClient.connect(address(port), optionsOf(t)), ends(/the answer has more than 65536 bytes/))
  const unfinished = await listening(
    t,
    createServer((_, response) => void response.write('{')),
  )
  const options = optionsOf(t, { timeoutMs: 50 })
  await assert.rejects(AdminClient.connect(address(unfinished), options), ends(/timeout/))
})

test('a server that is not a node is refused', async (t) => {
  for (const answer of ['hello', '{}', '{"challenge":7,"nodeId":{}}']) {
    const port = await listening(
      t,
      createServer((_, response) => response.end(answer)),
    )
    await assert.rejects(AdminClient.connect(address(port), optionsOf(t)), {
      code: 'ERR_NODE_UNREACHABLE',
      message: /does not answer as a node does/,
    })
  }
})
