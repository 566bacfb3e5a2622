import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SettingSteps } from '../../../src/swarm/thread/setting-steps.ts'
import type { SwarmSettings } from '../../../src/swarm/thread/thread-messages.ts'

const settings: SwarmSettings = {
  displayName: 'A Node',
  initialPeers: [],
  announceAddresses: [],
  mdns: true,
  pingTimeoutMs: 5000,
  gossipMs: 10_000,
  lowLatencyMs: 20_000,
  highLatencyMs: 50_000,
  isReadOnly: false,
  blockTimeoutMs: 15_000,
  logFilter: 'INFO',
}

test('a setting that cannot be applied is reported and tried again, and the others apply', async () => {
  const applied: string[] = []
  const failures: string[] = []
  let isBroken = true
  const steps = new SettingSteps(
    [
      {
        of: ['announceAddresses'],
        apply: ({ announceAddresses }) => {
          if (isBroken) throw new Error('no multiaddress')
          applied.push(announceAddresses.join())
        },
      },
      {
        of: ['mdns'],
        apply: ({ mdns }) => (isBroken ? Promise.reject(new Error('no socket')) : void applied.push(`${mdns}`)),
      },
      { of: ['gossipMs', 'pingTimeoutMs'], apply: ({ gossipMs }) => void applied.push(`${gossipMs}`) },
    ],
    settings,
    (error) => failures.push(String(error)),
  )
  const changed = { ...settings, announceAddresses: ['x'], mdns: false, gossipMs: 1 }
  steps.apply(changed)
  await new Promise(setImmediate)
  assert.deepEqual([applied, failures], [['1'], ['Error: no multiaddress', 'Error: no socket']])
  isBroken = false
  steps.apply({ ...changed })
  await new Promise(setImmediate)
  assert.deepEqual([applied, failures.length], [['1', 'x', 'false'], 2])
  steps.apply(changed)
  assert.equal(applied.length, 3)
})
