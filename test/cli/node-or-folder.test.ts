import assert from 'node:assert/strict'
import { chmodSync, rmSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { ControlClient } from '../../src/cli/client/control-client.ts'
import type { NodeClient } from '../../src/cli/client/node-client.ts'
import { onNodeOrFolder } from '../../src/cli/client/node-or-folder.ts'
import { initLocal } from '../../src/cli/commands/local-settings.ts'
import { getSettings, setSettings, unsetSettings } from '../../src/cli/commands/node-settings.ts'
import { formatPublicKey, KeyPair } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { DataFolder } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'

async function stoppedNode(t: TestContext): Promise<string> {
  const folder = join(temporaryFolder(t), 'data')
  await initLocal(folder, false)
  return folder
}

/** A process at the control socket that handles requests in some other way than a node. */
async function socketServer(t: TestContext, folder: string, handle: RequestListener): Promise<void> {
  const server = createServer(handle)
  await new Promise<void>((resolve) => server.listen(join(folder, 'control.sock'), resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
}

test('a folder that is locked by a process without a control socket is waited for', async (t) => {
  const folder = await stoppedNode(t)
  const lock = DataFolder.open(folder, { create: false })
  let attempts = 0
  const stopped = async (): Promise<string> => {
    if (++attempts === 3) lock.close()
    DataFolder.open(folder, { create: false }).close()
    return 'done'
  }
  const running = (node: NodeClient): Promise<string> => node.request({ method: 'GET', path: '/node' })
  assert.equal(await onNodeOrFolder(folder, systemRuntime, { running, stopped }), 'done')
  assert.equal(attempts, 3)
})

test('a folder that stays locked is an error that names the process', async (t) => {
  const folder = await stoppedNode(t)
  const lock = DataFolder.open(folder, { create: false })
  t.after(() => lock.close())
  let now = 0
  const clock = { ...systemRuntime.clock, steadyMs: () => (now += limits.controlWaitMs) }
  const open = async (): Promise<void> => DataFolder.open(folder, { create: false }).close()
  const running = (node: NodeClient): Promise<void> => node.request({ method: 'GET', path: '/node' })
  await assert.rejects(onNodeOrFolder(folder, { ...systemRuntime, clock }, { running, stopped: open }), {
    code: 'ERR_IO',
    message: new RegExp(`is in use by the process ${process.pid}, which does not answer.*Try again`),
  })
})

test('the last user of a stopped node is removed by force only', async (t) => {
  const folder = await stoppedNode(t)
  const users = ['admin', 'authorizedUsers']
  const key = formatPublicKey(new KeyPair(Buffer.alloc(32, 2)).publicKey)
  await setSettings({ folder }, users, JSON.stringify([key]))
  await assert.rejects(unsetSettings({ folder }, ['admin']), { code: 'ERR_INVALID_INPUT', message: /--force/ })
  assert.deepEqual((await getSettings({ folder }, users, true)).json, [key])
  await unsetSettings({ folder, force: true }, ['admin'])
  assert.deepEqual((await getSettings({ folder }, users, true)).json, [])
})

test('a node that stops before it answers a change is an error with the command that shows the result', async (t) => {
  const folder = await stoppedNode(t)
  await socketServer(t, folder, (request) => request.socket.destroy())
  await assert.rejects(setSettings({ folder }, ['swarm', 'topic'], 'x'), {
    code: 'ERR_NODE_UNREACHABLE',
    message: new RegExp(`stopped before it answered.*\`shoal settings get /swarm/topic --working-dir ${folder}\``),
  })
})

test('a node that stops in the middle of an answer to a change is the same error', async (t) => {
  const folder = await stoppedNode(t)
  await socketServer(t, folder, (request, response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('{', () => request.socket.destroy())
  })
  await assert.rejects(setSettings({ folder }, ['swarm', 'topic'], 'x'), { code: 'ERR_NODE_UNREACHABLE' })
})

test('reading is repeated on the folder when the node stops before it answers', async (t) => {
  const folder = await stoppedNode(t)
  await socketServer(t, folder, (request) => request.socket.destroy())
  assert.equal((await getSettings({ folder }, ['swarm', 'topic'], true)).json, 'default-topic')
})

test('a node that does not answer is an error', async (t) => {
  const folder = await stoppedNode(t)
  await socketServer(t, folder, () => {})
  await assert.rejects(new ControlClient(folder, systemRuntime.timers, 20).request({ method: 'GET', path: '/node' }), {
    code: 'ERR_NODE_UNREACHABLE',
    message: /the node of the data directory .* has not answered for 0\.02 s/,
  })
})

test('an answer that is not JSON is an error', async (t) => {
  const folder = await stoppedNode(t)
  await socketServer(t, folder, (_, response) => response.writeHead(500).end('<html>'))
  await assert.rejects(getSettings({ folder }, [], true), {
    code: 'ERR_IO',
    message: /Unexpected response with status 500/,
  })
})

test('the folder of another user is an error that names the owner', {
  skip: process.getuid?.() !== 0 && 'only root can change its user',
}, async (t) => {
  const folder = await stoppedNode(t)
  await socketServer(t, folder, (_, response) => response.end('{}'))
  chmodSync(join(folder, 'control.sock'), 0o600)
  const asOther = async (mode: number): Promise<void> => {
    chmodSync(folder, mode)
    chmodSync(join(folder, '..'), 0o755)
    process.seteuid?.(65534)
    try {
      await assert.rejects(setSettings({ folder }, ['swarm', 'topic'], 'x'), {
        code: 'ERR_IO',
        message: /may not be used by .*: it belongs to the user with the ID 0\. Run shoal as its owner/,
      })
    } finally {
      process.seteuid?.(0)
    }
  }
  await asOther(0o755)
  await asOther(0o700)
  rmSync(join(folder, 'control.sock'))
})
