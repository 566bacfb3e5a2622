import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { connectionsPerPort, openFileLimit, parseOpenFileLimit } from '../../src/runtime/descriptors.ts'

test('the limit of open files is read from /proc/self/limits', () => {
  const text = (soft: string) =>
    `Limit                     Soft Limit           Hard Limit           Units     \nMax processes             95000                95000                processes \nMax open files            ${soft.padEnd(20)} 524288               files     \n`
  assert.equal(parseOpenFileLimit(text('1024')), 1024)
  assert.equal(parseOpenFileLimit(text('unlimited')), Number.POSITIVE_INFINITY)
  assert.equal(parseOpenFileLimit('Max open file locks 1 1 files\n'), undefined)
  assert.ok(openFileLimit() > 0)
  assert.equal(openFileLimit('win32'), Number.POSITIVE_INFINITY)
})

test('the connection limits of all ports together leave the reserved file descriptors free', () => {
  for (const openFiles of [160, 161, 256, 1024, 4096, 10_240, 12_000, 65_536]) {
    const { api, admin, swarm } = connectionsPerPort(openFiles)
    assert.ok(api + admin + swarm <= openFiles - limits.reservedDescriptors, String(openFiles))
    assert.ok(api > admin && admin >= 2 && swarm === admin, String(openFiles))
  }
  assert.deepEqual(connectionsPerPort(256), { api: 112, admin: 8, swarm: 8 })
  assert.deepEqual(connectionsPerPort(1024), { api: 784, admin: 56, swarm: 56 })
  assert.deepEqual(connectionsPerPort(Number.POSITIVE_INFINITY), { api: 10_000, admin: 1000, swarm: 1000 })
  assert.throws(() => connectionsPerPort(159), /limit of open files is 159, a node needs at least 160\. .*ulimit -n/)
})
