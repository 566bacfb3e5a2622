import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { formatPublicKey, KeyPair } from '../../src/identity/index.ts'
import { control } from '../support/control.ts'
import { temporaryFolder } from '../support/folder.ts'
import { RunningNode } from '../support/running-node.ts'

const anna = new KeyPair(Buffer.alloc(32, 2))

/**
 * Signs in without a one-time code, over one connection: the node looks up its owner. Prints the user of the process, and
 * the error code or that a session was opened.
 */
const client = `
const [url, publicKey] = process.argv.slice(1)
const { createPrivateKey, sign } = require('node:crypto')
const { Agent, request } = require('node:http')
const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const post = (path, body) => new Promise((resolve, reject) => {
  const asked = request(url + path, { method: 'POST', agent, headers: { 'content-type': 'application/json' } })
  asked.on('error', reject).on('response', async (response) => resolve(JSON.parse((await response.toArray()).join(''))))
  asked.end(JSON.stringify(body))
})
const head = Buffer.from('302e020100300506032b657004220420', 'hex')
const key = createPrivateKey({ key: Buffer.concat([head, Buffer.alloc(32, 2)]), format: 'der', type: 'pkcs8' })
post('/challenge', { publicKey }).then(async ({ challenge, nodeId }) => {
  const signature = sign(null, Buffer.from('shoal-admin' + nodeId + challenge), key).toString('base64')
  const { code, firstUser } = await post('', { publicKey, challenge, signature })
  console.log(process.getuid() + ' ' + (code ?? 'first user: ' + firstUser))
  agent.destroy()
})`

test('programs of other users of this machine cannot claim a node, those of its own user can', {
  skip: process.getuid?.() !== 0 && 'only root can start programs of other users',
}, async (t) => {
  const node = await RunningNode.start(t, join(temporaryFolder(t), 'data'))
  const args = ['-e', client, `http://${node.admin}/api/v2/admin/session`, formatPublicKey(anna.publicKey)]
  const signInAs = async (user: number): Promise<string> => {
    const { stdout } = await promisify(execFile)(process.execPath, args, { uid: user, gid: user, cwd: '/', env: {} })
    return stdout
  }
  const authorizedUsers = async (): Promise<unknown> =>
    (await control(node.folder, 'GET', '/settings?scope=/admin/authorizedUsers&defaults=true')).body
  // Users that a container does not map are shown as this one.
  const overflowUser = Number(readFileSync('/proc/sys/kernel/overflowuid', 'utf8'))
  for (const user of [12345, overflowUser]) {
    assert.equal(await signInAs(user), `${user} ERR_UNAUTHORIZED\n`)
    assert.deepEqual(await authorizedUsers(), [])
  }
  assert.equal(await signInAs(0), '0 first user: true\n')
  assert.deepEqual(await authorizedUsers(), [formatPublicKey(anna.publicKey)])
})
