import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { publishEvent, showOffsets } from '../../src/cli/commands/events.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { socketText } from '../../src/listening/listen.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startBareNode } from '../support/node.ts'
import { ShoalProcess, shoal, until } from '../support/process.ts'

const identity = new KeyPair(Buffer.alloc(32, 2)).toPrivateText()

test('events are published, queried and followed through the socket and the port', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const { node } = await startBareNode(t, { folder })
  const [at] = node.addresses.admin
  assert.ok(at)
  const remote = { folder: '', node: socketText(at), identity }
  const tail = new ShoalProcess(t, ['events', 'tail', socketText(at), "FROM 'tailed'", '-i', identity, '--json'])
  const first = await publishEvent({ folder }, '{"n":1.0}', ['a', 'b'])
  const { data } = first.json as { data: { stream: string; offset: number }[] }
  const [{ stream, offset } = { stream: '', offset: -1 }] = data
  assert.match(await first.text(), new RegExp(`^published event ${stream}/${offset} at \\d{4}-.*Z$`))
  await publishEvent(remote, '"second"', ['a'])
  for (const bad of ['{', '', '[1,}'])
    await assert.rejects(publishEvent(remote, bad, []), { code: 'ERR_INVALID_INPUT' })
  await assert.rejects(publishEvent(remote, '1', ['x'.repeat(2000)]), { code: 'ERR_INVALID_INPUT' })
  const offsets = await showOffsets(remote)
  const { present } = offsets.json as { present: Record<string, number> }
  assert.ok((present[stream] ?? 0) > offset)
  assert.match(await offsets.text(), /│ STREAM ID +│ OFFSET +│ TO REPLICATE +│/)
  const human = await shoal(t, ['events', 'query', "FROM 'a'", '--working-dir', folder])
  assert.match(human.stdout, /^\d+\/.{4}-\d+@\S+: \{"n":1\.0\}\n\d+\/.{4}-\d+@\S+: "second"\n$/)
  const ordered = new ShoalProcess(t, ['internal', 'events', 'subscribe-monotonic', folder, "FROM 'a'"])
  await until(
    () => (/: "second"\n$/.test(ordered.stdout) ? true : undefined),
    () => ordered.stderr,
    () => ordered.child.exitCode !== null,
  )
  const refused = await shoal(t, ['events', 'query', socketText(at), 'FROM', '-i', identity, '--json'])
  assert.equal(refused.code, 1)
  assert.equal(JSON.parse(refused.stdout).code, 'ERR_INVALID_INPUT')
  // The tail begins at some moment from now on, so that events are published until it shows one.
  const shown = await until(
    async () => {
      await publishEvent(remote, '7', ['tailed'])
      return tail.stdout.includes('\n') ? tail.stdout.split('\n')[0] : undefined
    },
    () => tail.stderr,
    () => tail.child.exitCode !== null,
  )
  const { type, appId, payload } = JSON.parse(shown ?? '')
  assert.deepEqual([type, appId, payload], ['event', 'com.actyx.cli', 7])
  await node.settings.unset(['admin', 'authorizedUsers'], 'test')
  assert.equal((await tail.ended).code, 1)
  assert.match(tail.stdout, /\n\{"code":"ERR_NODE_UNREACHABLE","message":"unable to reach node, [^\n]*\n$/)
})
