import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { complete, type Json, type JsonObject, type SettingsDocument } from '../../src/settings/index.ts'
import { type SwarmSettings, swarmSettingsOf } from '../../src/swarm/index.ts'

type Name = keyof SettingsDocument['swarm']

function settingsWith(swarm: Readonly<Partial<Record<Name, Json>>>): SwarmSettings {
  return swarmSettingsOf(complete({ swarm } as JsonObject) as unknown as SettingsDocument, 'info')
}

/** What the swarm thread gets of each setting; the defaults are a `gossipInterval` of 10 s, and 2 and 5 cycles. */
const applied: readonly [Partial<Record<Name, Json>>, Partial<SwarmSettings>][] = [
  [{ initialPeers: ['/ip4/10.0.0.7/tcp/1/p2p/x'] }, { initialPeers: ['/ip4/10.0.0.7/tcp/1/p2p/x'] }],
  [{ announceAddresses: ['/ip4/10.0.0.7/tcp/1'] }, { announceAddresses: ['/ip4/10.0.0.7/tcp/1'] }],
  [{ mdns: false }, { mdns: false }],
  [{ pingTimeout: 7 }, { pingTimeoutMs: 7000 }],
  [{ bitswapTimeout: 7 }, { blockTimeoutMs: 7000 }],
  [{ gossipInterval: 7 }, { gossipMs: 7000, lowLatencyMs: 14_000, highLatencyMs: 35_000 }],
  [{ detectionCyclesLowLatency: 3 }, { lowLatencyMs: 30_000 }],
  [{ detectionCyclesHighLatency: 7 }, { highLatencyMs: 70_000 }],
]

test('each setting of the swarm changes what the swarm thread gets, and nothing else', () => {
  const before = settingsWith({})
  for (const [setting, expected] of applied) {
    assert.notDeepEqual(settingsWith(setting), before, JSON.stringify(setting))
    assert.deepEqual(settingsWith(setting), { ...before, ...expected }, JSON.stringify(setting))
  }
})

/** For each setting, the test file that shows its effect, and a part of the name of the test. */
const effects: Readonly<Record<Name, readonly [file: string, test: string]>> = {
  announceAddresses: ['swarm/swarm.test.ts', 'known and announced addresses'],
  bitswapTimeout: ['node/open-files.test.ts', 'waits for `bitswapTimeout`'],
  blockCacheCount: ['node/open-files.test.ts', 'beyond `blockCacheCount` and `blockCacheSize`'],
  blockCacheSize: ['node/open-files.test.ts', 'beyond `blockCacheCount` and `blockCacheSize`'],
  blockGcInterval: ['node/open-files.test.ts', 'every `blockGcInterval`'],
  branchCacheSize: ['node/live.test.ts', 'a change of branchCacheSize takes effect'],
  detectionCyclesHighLatency: ['replication/peer-status.test.ts', 'has a low or a high latency'],
  detectionCyclesLowLatency: ['replication/peer-status.test.ts', 'has a low or a high latency'],
  gossipInterval: ['sync/liveness.test.ts', 'changed time-outs and intervals'],
  initialPeers: ['swarm/two-nodes.test.ts', 'exchange events by initialPeers'],
  mdns: ['network/mdns.test.ts', 'mDNS that is switched off'],
  metricsInterval: ['node/maintenance.test.ts', 'one metrics event is published per interval'],
  pingTimeout: ['sync/liveness.test.ts', 'changed time-outs and intervals'],
  swarmKey: ['swarm/restarts.test.ts', 'a changed key restarts the swarm only'],
  topic: ['node/topic-change.test.ts', 'a change of the topic and back'],
}

test('every setting of the swarm has a test that shows its effect', () => {
  const { swarm } = complete({} as JsonObject) as unknown as SettingsDocument
  assert.deepEqual(Object.keys(effects).sort(), Object.keys(swarm).sort())
  for (const [setting, [file, name]] of Object.entries(effects)) {
    const path = join(import.meta.dirname, '..', file)
    assert.ok(existsSync(path), `${setting}: ${file}`)
    const lines = readFileSync(path, 'utf8').split('\n')
    assert.ok(
      lines.some((line) => line.includes('test(') && line.includes(name)),
      `${setting}: ${file} has the test '${name}'`,
    )
  }
})
