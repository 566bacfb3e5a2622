import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Facts } from '../../../src/cli/doctor/facts.ts'
import { checksOf, findingsOf, reportText } from '../../../src/cli/doctor/report.ts'
import * as fc from '../../support/property.ts'
import { healthy, healthySettings, peerId, stopped } from './facts.ts'
import { machineFaults } from './machine-faults.ts'
import { swarmFaults, unclaimed } from './swarm-faults.ts'

test('a node without a fault has no findings', () => {
  assert.deepEqual(findingsOf(healthy), [])
  const checks = checksOf(healthy)
  assert.equal(checks.length, 14, 'all but the ports, which the node has')
  assert.match(reportText([], checks), /^Nothing was found\. Without a finding: running, access, lock, disk,/)
})

for (const [name, facts, check, severity, expected] of [...machineFaults, ...swarmFaults])
  test(`doctor finds ${name}, and nothing else`, () => {
    const found = findingsOf(facts).filter(
      (finding) => facts === stopped || finding.check !== 'running' || check === 'running',
    )
    assert.deepEqual(
      found.map((finding) => [finding.check, finding.severity]),
      [[check, severity]],
    )
    assert.match(reportText(found, checksOf(facts)).replace(/\n\n1 .*$/, ''), expected)
    assert.ok(checksOf(facts).includes(check))
  })

test('of many peers that are not connected the first ones have findings, and the others are counted', () => {
  const failure = { address: '/ip4/10.0.0.2/tcp/4001', reason: 'no route to this address' }
  const peer = { peerId, name: '', isInitial: false, isConnected: false, failure }
  const peers = [...Array.from({ length: 99 }, () => peer), { ...peer, isInitial: true }]
  const found = findingsOf({ ...healthy, peers })
  assert.match(found[0]?.problem ?? '', /^The initial peer/)
  assert.match(found.find(({ problem }) => problem.includes('more'))?.problem ?? '', /^80 more nodes/)
})

test('arbitrary facts give findings with a reason and a command, the worst first, without control characters', () => {
  const text = fc.string({ unit: 'binary' })
  const reasons = fc.oneof(text, fc.constantFrom("the node is in the topic '", 'another swarm key', 'no route'))
  const peer = fc.record({
    peerId: text,
    name: text,
    isInitial: fc.boolean(),
    isConnected: fc.boolean(),
    failure: fc.option(fc.record({ address: text, reason: reasons }), { nil: undefined }),
  })
  const running = fc.record({
    phase: fc.constantFrom('starting', 'running'),
    problems: fc.array(fc.record({ component: text, detail: fc.option(text, { nil: undefined }) })),
    apiAddresses: fc.array(text),
    adminAddresses: fc.array(text),
    swarmAddresses: fc.array(text),
    hasSwarm: fc.boolean(),
    clockAhead: fc.dictionary(text, fc.double({ noNaN: true })),
    toReplicate: fc.record({ first: fc.nat(), later: fc.nat(), afterMs: fc.nat() }),
    inboundFailures: fc.dictionary(reasons, fc.nat()),
    refusedApps: fc.array(fc.record({ appId: text, reason: text })),
  })
  const facts = fc.record({ peers: fc.array(peer), running, isUnclaimed: fc.boolean() })
  fc.assert(
    fc.property(facts, ({ isUnclaimed, ...given }) => {
      const all: Facts = { ...healthy, ...given, settings: isUnclaimed ? unclaimed() : healthySettings() }
      const findings = findingsOf(all)
      const order = ['error', 'warning', 'note']
      const ranks = findings.map(({ severity }) => order.indexOf(severity))
      assert.deepEqual(
        ranks,
        [...ranks].sort((a, b) => a - b),
      )
      const shown = reportText(findings, checksOf(all))
      assert.doesNotMatch(shown.replaceAll('\n', ''), /\p{Cc}/u)
      for (const { problem, why, fix } of findings) assert.ok(problem !== '' && why !== '' && fix.length > 0)
      // A line break in a name of a peer forges no line.
      const commands = findings.reduce((sum, { fix }) => sum + fix.length, 0)
      assert.equal(shown.split('\n').filter((line) => line !== '').length, 2 * findings.length + commands + 1)
    }),
    { numRuns: 50 },
  )
})
