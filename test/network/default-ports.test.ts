import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import { temporaryFolder } from '../support/folder.ts'
import { until } from '../support/process.ts'
import { addresses, twoMachines } from './two-machines.ts'

// Requires Linux, `ip` and the privilege to create network namespaces. Fails without them instead of being skipped.

const connectScript = `
  const [host, port] = process.argv.slice(1)
  const socket = require('node:net').connect({ host, port, timeout: 10000 })
  const end = (text) => { console.log(text); socket.destroy() }
  socket.on('connect', () => end('open')).on('error', ({ code }) => end(code)).on('timeout', () => end('timeout'))`

/** The outcome of a connection attempt from one of the namespaces. */
function connection(from: string, host: string, port: number): string {
  const args = ['netns', 'exec', from, process.execPath, '-e', connectScript, host, String(port)]
  return execFileSync('ip', args, { encoding: 'utf8' }).trim()
}

test('by default the API and admin ports are closed to other machines, and the swarm port is open', async (t) => {
  const machines = twoMachines(t)
  const args = [
    'netns',
    'exec',
    machines.node,
    process.execPath,
    shoalCommand,
    'run',
    '--working-dir',
    temporaryFolder(t),
  ]
  const running = spawn('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(running, 'close')
  let log = ''
  running.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  try {
    await until(
      () => (log.includes('NODE_STARTED_BY_HOST') ? true : undefined),
      () => log,
      () => running.exitCode !== null,
    )
    for (const host of addresses.node) {
      const outcomes = [4454, 4458, 4001].map((port) => connection(machines.other, host, port))
      assert.deepEqual(outcomes, ['ECONNREFUSED', 'ECONNREFUSED', 'open'])
    }
    for (const host of ['127.0.0.1', '::1'])
      for (const port of [4454, 4458, 4001]) assert.equal(connection(machines.node, host, port), 'open')
  } finally {
    running.kill('SIGTERM')
    await ended
  }
})
