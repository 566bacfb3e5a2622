import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ApiClient } from '../../src/cli/client/api-client.ts'
import { readEvents, showOffsets } from '../../src/cli/commands/events.ts'
import { inspectNode } from '../../src/cli/commands/nodes.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { folderWith, server } from '../support/answering.ts'
import { shoal } from '../support/process.ts'

const refused = { code: 'ERR_NODE_UNREACHABLE', message: /has sent what is not JSON: "<html>/ }

test('an answer of a node that is not JSON is reported as such', async (t) => {
  const folder = await folderWith(t, (_, response) => response.end('<html>'))
  await assert.rejects(showOffsets({ folder }), refused)
  await assert.rejects(inspectNode({ folder }), refused)
  const query = await readEvents({ folder }, 'query', 'FROM allEvents', false)
  await assert.rejects(query.stream(), refused)
})

test('a line of a query that is not JSON is reported as such', async (t) => {
  const folder = await folderWith(t, (_, response) => response.end('{"code":<html>\n'))
  const { code, stderr } = await shoal(t, ['events', 'query', folder, 'FROM allEvents'])
  assert.equal(code, 1)
  assert.match(stderr, /^\[ERR_NODE_UNREACHABLE\] Error: .*has sent what is not JSON.*\nNext: shoal doctor /)
})

test('an API that does not answer as a node does is reported as such', async (t) => {
  for (const [body, message] of [
    ['<html>', /has sent what is not JSON/],
    ['null', /does not answer as a node does/],
    ['{"token":7}', /does not answer as a node does/],
  ] as const) {
    const made = server(t, (_, response) => response.end(body)).listen(0, '127.0.0.1')
    await new Promise((resolve) => made.once('listening', resolve))
    const { port } = made.address() as AddressInfo
    await assert.rejects(ApiClient.connect(`127.0.0.1:${port}`, systemRuntime.timers), {
      code: 'ERR_NODE_UNREACHABLE',
      message,
    })
  }
})

test('-v says which node is asked, -vv which requests are sent, and the environment overrides both', async (t) => {
  const folder = await folderWith(t, (_, response) => response.end('{"present":{},"toReplicate":{}}'))
  const stderr = async (args: string[], env = {}) =>
    (await shoal(t, ['events', 'offsets', folder, ...args], { env })).stderr
  assert.equal(await stderr([]), '')
  const asked = ` INFO asking the node of the data directory ${folder}\n`
  assert.equal(await stderr(['-v']), asked)
  assert.equal(await stderr(['-vv']), `${asked}DEBUG GET /events/offsets: 200 from the control socket of ${folder}\n`)
  assert.equal(await stderr(['--verbose'], { SHOAL_LOG: 'off' }), '')
  assert.equal(await stderr([], { SHOAL_LOG: 'info' }), asked)
})
