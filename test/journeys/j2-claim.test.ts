import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { RunningNode } from '../support/running-node.ts'

test('J2: claim a node', async (t) => {
  const [owner, other] = [new Journey(t), new Journey(t)]
  const { admin } = await RunningNode.start(t, join(owner.folder, 'data'))

  const made = await owner.run(['users', 'keygen'], '\n')
  assert.equal(made.code, 0, made.stderr)
  const files = join(owner.folder, 'config/shoal/keys/users/id')
  const key = readFileSync(`${files}.pub`, 'utf8').trim()
  assert.match(key, /^0.{44}$/)
  assert.ok(made.stdout.includes(key), made.stdout)
  const { publicKey } = await other.result('users', 'keygen', '-o', join(other.folder, 'config/shoal/keys/users/id'))

  const [row] = await owner.result('nodes', 'ls', admin)
  assert.deepEqual([row.connection, row.host], ['reachable', admin])
  assert.match(await owner.text('nodes', 'ls', admin), /│ NODE ID +│ DISPLAY NAME +│ HOST +│ STARTED +│ VERSION +│/)

  assert.deepEqual(await owner.result('settings', 'get', '/admin/authorizedUsers', admin), [key])
  assert.equal(await owner.text('settings', 'get', '/admin/authorizedUsers', admin), `- ${key}\n`)

  const message = await other.refused('ERR_UNAUTHORIZED', 'settings', 'get', '/', admin)
  assert.equal(message, 'Provided key is not authorized to access the API.')
  assert.deepEqual(await other.result('nodes', 'ls', admin), [{ connection: 'unauthorized', host: admin }])

  const list = join(owner.folder, 'users.json')
  writeFileSync(list, JSON.stringify([key, publicKey]))
  const set = await owner.text('settings', 'set', '/admin/authorizedUsers', `@${list}`, admin)
  assert.match(set, /^Successfully replaced settings at \/admin\/authorizedUsers\. Created object with defaults:\n- 0/)
  assert.deepEqual(await other.result('settings', 'get', '/admin/authorizedUsers', admin), [key, publicKey])
})
