import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { logOutput, textLine } from '../../src/logging/index.ts'
import { bindRules, checkDistinct, Node, onFreePorts, parseBinds } from '../../src/node/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

const { api, admin, swarm } = bindRules

test('a port without a host binds API and admin to loopback, and the swarm to all addresses', () => {
  assert.deepEqual(parseBinds(['80'], api), [{ host: '127.0.0.1', port: 80 }])
  assert.deepEqual(parseBinds(['80'], admin), [
    { host: '127.0.0.1', port: 80 },
    { host: '::1', port: 80, optional: true },
  ])
  assert.deepEqual(parseBinds(['80'], swarm), [
    { host: '0.0.0.0', port: 80 },
    { host: '::', port: 80, optional: true },
  ])
})

test('a host without a port gets the default port, and localhost gets both loopback addresses', () => {
  assert.deepEqual(parseBinds(['localhost'], api), [
    { host: '127.0.0.1', port: 4454 },
    { host: '::1', port: 4454, optional: true },
  ])
  assert.deepEqual(parseBinds(['10.1.2.3'], admin), [{ host: '10.1.2.3', port: 4458 }])
  assert.deepEqual(parseBinds(['fd00::1'], swarm), [{ host: 'fd00::1', port: 4001 }])
  assert.deepEqual(parseBinds(['node.example.org'], swarm), [{ host: 'node.example.org', port: 4001 }])
})

test('host:port, [IPv6]:port and TCP multiaddresses are parsed', () => {
  const specs = ['a.b:1', '[::1]:2', '/ip4/10.0.0.1/tcp/3', '/ip6/::1/tcp/4', '/dns4/x.y/tcp/5', '[::1]']
  const hosts = [
    ['a.b', 1],
    ['::1', 2],
    ['10.0.0.1', 3],
    ['::1', 4],
    ['x.y', 5],
    ['::1', 4454],
  ]
  assert.deepEqual(
    parseBinds(specs, api).map(({ host, port }) => [host, port]),
    hosts,
  )
})

test('a malformed address is refused with the option and the allowed forms', () => {
  const wrong = [
    '',
    ' ',
    ':',
    ':80',
    'a:',
    'a:b',
    'a:65536',
    '-1',
    '99999',
    '1.2.3',
    '1.2.3.4.5',
    '[::1',
    '[x]:1',
    '::1:x',
    'a/b',
    '/ip4/1.2.3/tcp/1',
    '/ip4/1.2.3.4/udp/1',
    '/ip4/1.2.3.4/tcp/1/p2p/x',
    '/ip6/1.2.3.4/tcp/1',
    'ex ample:1',
  ]
  for (const spec of wrong)
    assert.throws(
      () => parseBinds([spec], api),
      { code: 'ERR_INVALID_INPUT', message: /^--bind-api: .*Allowed are/ },
      spec,
    )
})

test('several hosts are accepted, several bare ports or a mix of both are refused', () => {
  assert.equal(parseBinds(['a:1', 'b:2', 'localhost'], api).length, 4)
  assert.throws(() => parseBinds(['1', '2'], api), { message: /Multiple single port directives not supported/ })
  assert.throws(() => parseBinds(['1', 'a:2'], api), {
    message: /Both port directive and host:port combination not supported/,
  })
})

test('arbitrary input is an endpoint or is refused with the option', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(...'[]:/.019ap4t'.split('')) }))
  fc.assert(
    fc.property(text, (spec) => {
      try {
        for (const { host, port } of parseBinds([spec], api)) assert.ok(host !== '' && port >= 0 && port <= 65535)
      } catch (error) {
        assert.match((error as Error).message, /^--bind-api: /)
      }
    }),
  )
})

test('free ports do not change the addresses', () => {
  assert.deepEqual(onFreePorts(parseBinds(['10.0.0.1:80'], api)), [{ host: '10.0.0.1', port: 0 }])
})

test('two components on the same address or host name are refused with both options', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const output = logOutput(textLine(false), { write: () => {}, flush: async () => {} }, systemClock)
  const endpoints = {
    api: [{ host: 'localhost', port: 5000, family: 4 as const }],
    admin: [{ host: '127.0.0.1', port: 5000 }],
    swarm: [{ host: '127.0.0.1', port: 0 }],
  }
  await assert.rejects(Node.start({ folder, endpoints, output }), {
    code: 'ERR_INVALID_INPUT',
    message: /^--bind-api and --bind-admin both name 127\.0\.0\.1:5000\./,
  })
  assert.ok(!existsSync(folder))
})

test('the same port on different addresses, and port 0, do not conflict', () => {
  const all = (spec: string) => ({ api: parseBinds([spec], api), admin: parseBinds([spec], admin) })
  checkDistinct({ ...all('127.0.0.1:0'), swarm: parseBinds(['127.0.0.1:0'], swarm) })
  checkDistinct({
    api: parseBinds(['127.0.0.1:5000'], api),
    admin: parseBinds(['127.0.0.2:5000'], admin),
    swarm: parseBinds(['[::]:5000'], swarm),
  })
})
