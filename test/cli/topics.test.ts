import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { deleteTopic, listTopics } from '../../src/cli/commands/topics.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startBareNode } from '../support/node.ts'
import { until } from '../support/process.ts'

test('topics are listed and deleted, except the active one', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const { node, log } = await startBareNode(t, { folder })
  const list = () => listTopics([{ folder }], 5000, true)
  const remove = (topic: string) => deleteTopic(topic, [{ folder }], 5000, true)
  await node.settings.set(['swarm', 'topic'], 'hall/3', 'test')
  // Refused from the change of the settings on, also before the topic is open.
  const early = (await remove('hall/3')).json as [{ connection: string; error: { code: string } }]
  assert.equal(early[0].connection, 'error')
  await until(
    () => (log.some((line) => line.includes(`the topic 'hall/3' is open`)) ? true : undefined),
    () => log.join(''),
  )
  const { json, text } = await list()
  const [{ connection, host, response }] = json as [{ connection: string; host: string; response: { topics: object } }]
  assert.deepEqual([connection, host], ['reachable', folder])
  const { topics, ...named } = response
  assert.deepEqual(named, { nodeId: node.id, activeTopic: 'hall/3' })
  assert.deepEqual(Object.keys(topics).sort(), ['default-topic', 'hall/3'])
  assert.ok(Object.values(topics).every((bytes) => bytes > 4096))
  assert.match(await text(), /│ hall\/3 +│ \d+ +│ \* +│/)
  const active = await remove('hall/3')
  const message = `The topic 'hall/3' is currently active and cannot be deleted`
  assert.deepEqual(active.json, [{ connection: 'error', host: folder, error: { code: 'ERR_INVALID_INPUT', message } }])
  assert.equal(active.failed, true)
  const deleted = await remove('default-topic')
  assert.deepEqual(deleted.json, [
    { connection: 'reachable', host: folder, response: { nodeId: node.id, deleted: true } },
  ])
  assert.match(await deleted.text(), /│ Y +│/)
  assert.match(await (await remove('default-topic')).text(), /│ N +│/)
  const [left] = (await list()).json as [{ response: { topics: object } }]
  assert.deepEqual(Object.keys(left.response.topics), ['hall/3'])
})
