import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../src/base/limits.ts'
import { LogFilter, Logger } from '../../../src/logging/index.ts'
import { PingLog } from '../../../src/swarm/thread/ping-log.ts'
import { Pings } from '../../../src/swarm/thread/pings.ts'
import { ReasonCounts } from '../../../src/swarm/thread/reason-counts.ts'
import { GateNotices, RemoteGate } from '../../../src/swarm/thread/remote-gate.ts'
import { RestartDelays } from '../../../src/swarm/thread/restart-delays.ts'
import type { GateNotice } from '../../../src/swarm/thread/thread-messages.ts'
import { virtualRuntime } from '../../support/virtual-runtime.ts'

test('round trips are averaged, and pings without an answer are counted', () => {
  const told: (number | string)[] = []
  const pings = new Pings({ answered: (micros) => told.push(micros), failed: () => told.push('failed') })
  const statistics = () => pings.statistics
  assert.equal(statistics(), undefined)
  pings.sent(1, 100)
  pings.answered(1, 110)
  assert.deepEqual(statistics(), { current: 10_000, decay3: 10_000, decay10: 10_000, failures: 0, failureRate: 0 })
  pings.sent(2, 200)
  pings.answered(1, 201)
  pings.sent(3, 300)
  assert.deepEqual([statistics()?.failures, statistics()?.failureRate], [1, 10_000])
  pings.answered(3, 320)
  assert.deepEqual(statistics(), {
    current: 20_000,
    decay3: 13_000,
    decay10: 11_000,
    failures: 0,
    failureRate: 9900,
  })
  assert.deepEqual(told, [10_000, 'failed', 20_000])
})

test('slow and failed pings are logged once per peer, and then counted', () => {
  const { clock, timers } = virtualRuntime()
  const lines: string[] = []
  const write = ({ level, message, fields }: { level: string; message: string; fields: object }): void =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields)}`)
  const log = new PingLog(new Logger({ filter: new LogFilter('INFO'), clock, write }, 'swarm'), timers)
  log.answered('n', 1000 * limits.slowPingMs - 1)
  log.answered('n', 1_500_000)
  log.failed('n')
  log.failed('n')
  log.answered('m', 2_000_000)
  timers.advance(limits.throttledLogMs)
  assert.deepEqual(lines, [
    'WARN slow ping time {"node":"n","ms":1500}',
    'INFO ping failure {"node":"n"}',
    'WARN slow ping time {"node":"m","ms":2000}',
    'INFO ping failure {"node":"n","count":1}',
  ])
})

test('a thread is started again after a growing delay, and after a short one when it had worked', () => {
  const delays = new RestartDelays()
  const given = Array.from({ length: 8 }, () => delays.after(10))
  assert.deepEqual(given, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  assert.equal(delays.after(limits.maxThreadRestartMs), 1000)
})

test('reasons beyond a limit are counted together', () => {
  const counts = new ReasonCounts()
  for (let i = 0; i < limits.countedReasons + 3; i++) counts.add(`reason ${i}`)
  counts.add('reason 0')
  assert.equal(Object.keys(counts.counts).length, limits.countedReasons + 1)
  assert.deepEqual([counts.counts['reason 0'], counts.counts['other']], [2, 3])
})

test('the gate of the main thread gets all notices, and forgets the peers of a thread that has ended', () => {
  const told: string[] = []
  const gate = {
    isInDoubt: true,
    connected: (peer: string) => void told.push(`+${peer}`),
    disconnected: (peer: string) => void told.push(`-${peer}`),
    compared: (peer: string, streams: readonly unknown[]) => void told.push(`${peer} ${streams.length}`),
    behind: (peer: string, own: { stream: number; count: number }) =>
      void told.push(`${peer} behind ${own.stream} ${own.count}`),
    adopted: (stream: number, count: number) => void told.push(`adopted ${stream} ${count}`),
    froze: (stream: number) => void told.push(`froze ${stream}`),
  }
  const notices = new GateNotices(gate)
  const remote = new RemoteGate(false, (notice: GateNotice) => notices.take(structuredClone(notice)))
  remote.connected('a')
  remote.connected('b')
  remote.compared('a', [])
  remote.adopted(0, 5)
  remote.froze(1)
  remote.disconnected('a')
  notices.threadEnded()
  notices.threadEnded()
  assert.deepEqual(told, ['+a', '+b', 'a 0', 'adopted 0 5', 'froze 1', '-a', '-b'])
  assert.equal(remote.isInDoubt, true)
  remote.open()
  remote.behind('c', { stream: 3, count: 4 })
  assert.deepEqual([remote.isInDoubt, told.at(-1)], [false, 'c behind 3 4'])
})
