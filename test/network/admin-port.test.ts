import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'
import { addresses, twoMachines } from './two-machines.ts'

// Requires Linux, `ip` and the privilege to create network namespaces. Fails without them instead of being skipped.

/** Starts a node in a namespace, with its admin port on all addresses. */
async function startNode(t: TestContext, machine: string) {
  const args = [
    'run',
    '--standalone',
    '--bind-admin',
    '0.0.0.0:4458',
    '--working-dir',
    join(temporaryFolder(t), 'data'),
  ]
  const running = spawn('ip', ['netns', 'exec', machine, process.execPath, shoalCommand, ...args])
  const ended = once(running, 'close')
  let log = ''
  running.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const stop = async (): Promise<void> => {
    running.kill('SIGTERM')
    await ended
  }
  t.after(stop)
  await until(
    () => (log.includes('NODE_STARTED_BY_HOST') ? true : undefined),
    () => log,
    () => running.exitCode !== null,
  )
  const [, code = ''] = /one-time code (\S+)\./.exec(log) ?? []
  return { code, stop }
}

const healthScript = `
  const [host] = process.argv.slice(1)
  const options = { host, port: 4458, path: '/api/v2/admin/health', rejectUnauthorized: false }
  require('node:https').get(options, ({ statusCode }) => { console.log(statusCode); process.exit() })`

/** The status of a request for the health of the node, from one of the namespaces. */
function health(from: string, host: string): string {
  const args = ['netns', 'exec', from, process.execPath, '-e', healthScript, host]
  return execFileSync('ip', args, { encoding: 'utf8' }).trim()
}

test('from another machine a node is claimed with its code only, by TLS, and pinned by its ID', async (t) => {
  const machines = twoMachines(t)
  const config = temporaryFolder(t)
  const [host] = addresses.node
  const json = async (...args: string[]) => {
    const command = ['netns', 'exec', machines.other, process.execPath, shoalCommand, ...args, '--json']
    const child = spawn('ip', command, { env: { ...process.env, XDG_CONFIG_HOME: config } })
    const output = await child.stdout.setEncoding('utf8').toArray()
    return JSON.parse(output.join(''))
  }
  const first = await startNode(t, machines.node)
  assert.deepEqual([health(machines.other, host), health(machines.node, '127.0.0.1')], ['401', '200'])
  assert.equal((await json('users', 'keygen', '-o', join(config, 'shoal/keys/users/id'))).code, 'OK')
  assert.deepEqual((await json('nodes', 'ls', host)).result, [{ connection: 'unauthorized', host }])
  assert.equal((await json('users', 'claim', host, '--code', '0000')).code, 'ERR_UNAUTHORIZED')
  assert.equal((await json('settings', 'get', '/', `http://${host}`)).code, 'ERR_INVALID_INPUT')
  const claimed = await json('users', 'claim', host, '--code', first.code)
  assert.equal(claimed.result.firstUser, true)
  const set = await json('settings', 'set', '/admin/displayName', 'Press 7', host)
  assert.equal(set.result.settings, 'Press 7')
  const known = `${host}:4458 ${claimed.result.nodeId}\n`
  assert.equal(readFileSync(join(config, 'shoal/known-nodes'), 'utf8'), known)
  await first.stop()
  await startNode(t, machines.node)
  const [{ connection, error }] = (await json('nodes', 'ls', host)).result
  assert.equal(connection, 'error')
  assert.equal(error.code, 'ERR_NODE_UNREACHABLE')
  assert.match(error.message, /wrong PeerId at 10\.77\.0\.1:4458: .* remove its line from .*known-nodes/)
})
