import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { RunningNode } from '../support/running-node.ts'

test('J11: reset, topics', async (t) => {
  const journey = new Journey(t)
  const node = await RunningNode.start(t, join(journey.folder, 'data'))
  const { admin, id, folder } = node
  await journey.run(['users', 'keygen'], '\n')
  await journey.text('settings', 'set', '/admin/displayName', 'Press 7', admin)
  await journey.text('events', 'publish', admin, '"kept"', '-t', 'j11')
  const payloads = () => journey.text('events', 'query', admin, "FROM 'j11'")
  const change = (topic: string) => journey.result('settings', 'set', '/swarm/topic', topic, admin)

  assert.deepEqual((await change('fresh')).applied.restart, ['/swarm/topic'])
  assert.equal(await payloads(), '')
  const [{ nodeId, displayName }] = await journey.result('nodes', 'ls', admin)
  assert.deepEqual([nodeId, displayName], [id, 'Press 7'])
  await change('default-topic')
  assert.match(await payloads(), /: "kept"\n$/)

  const [{ connection, host, response }] = await journey.result('topics', 'ls', admin)
  assert.deepEqual([connection, host, response.nodeId, response.activeTopic], ['reachable', admin, id, 'default-topic'])
  assert.deepEqual(Object.keys(response.topics).sort(), ['default-topic', 'fresh'])
  for (const bytes of Object.values(response.topics)) assert.ok(Number(bytes) > 0)
  const listed = await journey.text('topics', 'ls', admin)
  assert.match(listed, /│ NODE ID +│ HOST +│ TOPIC +│ SIZE +│ ACTIVE +│/)
  assert.match(listed, /│ default-topic +│ +\d+ +│ \* +│/)

  const remove = (topic: string) => journey.text('topics', 'delete', topic, admin)
  assert.match(await remove('fresh'), /│ Y +│/)
  assert.match(await remove('unknown'), /│ N +│/)
  // A node that refuses is a row of the result.
  assert.match(await remove('default-topic'), /is currently active and cannot be deleted/)
  const [refused] = await journey.result('topics', 'delete', 'default-topic', admin)
  assert.deepEqual([refused.connection, refused.error.code], ['error', 'ERR_INVALID_INPUT'])
  assert.equal((await journey.run(['topics', 'delete', 'default-topic', admin, '--strict'])).code, 1)

  await node.stop()
  rmSync(folder, { recursive: true })
  const reset = await RunningNode.start(t, folder)
  assert.notEqual(reset.id, id)
  assert.equal(await journey.result('settings', 'get', '/admin/displayName', folder), 'Default Node')
})
