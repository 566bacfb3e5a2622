import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { RunningNode } from '../support/running-node.ts'

test('J14: lost admin access', async (t) => {
  const [lost, owner] = [new Journey(t), new Journey(t)]
  const folder = join(owner.folder, 'data')
  const node = await RunningNode.start(t, folder)
  const keys: string[] = []
  for (const journey of [lost, owner]) {
    const { publicKey } = await journey.result(
      'users',
      'keygen',
      '-o',
      join(journey.folder, 'config/shoal/keys/users/id'),
    )
    keys.push(publicKey)
  }
  await lost.text('users', 'claim', node.admin)
  await owner.refused('ERR_UNAUTHORIZED', 'settings', 'get', '/', node.admin)

  // Who may write to the data folder needs no key: also while the node runs.
  assert.equal(await owner.text('users', 'add-key', folder), 'OK\n')
  assert.deepEqual(await owner.result('settings', 'get', '/admin/authorizedUsers', node.admin), keys)
  const twice = await owner.refused('ERR_SETTINGS_INVALID', 'users', 'add-key', folder)
  assert.match(twice, /UniqueItems condition is not met/)

  const offline = ['settings', 'local', 'set', '/admin/displayName', 'X', '--working-dir', folder]
  assert.match(await owner.refused('ERR_IO', ...offline), /is locked by another shoal process/)
  await node.stop()
  assert.match(await owner.text(...offline), /^Successfully replaced settings at \/admin\/displayName\. .*:\nX\n$/)
  const third = new Journey(t)
  const { publicKey } = await third.result('users', 'keygen', '-o', join(third.folder, 'config/shoal/keys/users/id'))
  assert.deepEqual(await third.result('users', 'add-key', folder), { publicKey })

  const again = await RunningNode.start(t, folder)
  const [row] = await third.result('nodes', 'ls', again.admin)
  assert.deepEqual([row.connection, row.displayName, row.nodeId], ['reachable', 'X', node.id])
})
