import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Logger, logOutput, textLine } from '../../src/logging/index.ts'
import { reportStart } from '../../src/node/report-start.ts'
import { VirtualClock } from '../support/virtual-runtime.ts'

function linesFor(...addresses: readonly string[]): string[] {
  const lines: string[] = []
  const sink = { write: (line: string) => lines.push(line), flush: async () => {} }
  const log = new Logger(logOutput(textLine(false), sink, new VirtualClock()), 'node')
  const api = addresses.map((address) => ({ address, port: 4454 }))
  reportStart({ id: 'abc', folder: '/data', addresses: { api } }, log)
  return lines.map((line) => line.replace(/^\S+ +/, '').trimEnd())
}

test('a node that starts names its ID, its URL and its data folder', () => {
  const lines = linesFor('127.0.0.1', '::1')
  assert.deepEqual(lines, ['INFO node: node abc, API http://127.0.0.1:4454 and http://[::1]:4454, data folder /data'])
})

test('an API that other machines can reach is a warning, with its addresses and the way to close it', () => {
  for (const address of ['0.0.0.0', '10.0.0.7', '::']) {
    const [, warning = ''] = linesFor('127.0.0.1', address)
    assert.match(warning, /^WARN api: The API listens on \S+: programs on other machines.*`--bind-api localhost`/)
    assert.ok(warning.includes(address) && !warning.includes('127.0.0.1'))
  }
})
