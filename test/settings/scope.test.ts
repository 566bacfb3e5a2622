import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseScope } from '../../src/settings/index.ts'
import { changedPaths, mergePatch, valueAt, withoutValueAt, withValueAt } from '../../src/settings/scope.ts'

test('a scope without a leading slash, with empty parts, or too long is refused', () => {
  assert.deepEqual(parseScope('/'), [])
  assert.deepEqual(parseScope('/swarm/initialPeers/0'), ['swarm', 'initialPeers', '0'])
  for (const text of ['', 'swarm', '//', '/a//b', '/a/'])
    assert.throws(() => parseScope(text), { code: 'ERR_INVALID_INPUT' }, text)
  assert.throws(() => parseScope(`/${'x'.repeat(5000)}`), { message: /at most 4096 characters/ })
})

test('an index replaces or appends an item, also in a default list that is not stored', () => {
  const defaults = { list: ['a'], o: {} }
  assert.deepEqual(withValueAt({}, defaults, ['list', '0'], 'x'), { list: ['x'] })
  assert.deepEqual(withValueAt({}, defaults, ['list', '1'], 'x'), { list: ['a', 'x'] })
  assert.deepEqual(withValueAt({ list: [] }, defaults, ['list', '0'], 'x'), { list: ['x'] })
  for (const index of ['2', '-1', '01', 'x', '1e1'])
    assert.throws(() => withValueAt({}, defaults, ['list', index], 'x'), {
      message: new RegExp(`Index ${index} invalid at path /list`),
    })
  assert.deepEqual(withValueAt({}, defaults, ['list', '1', 'deep'], 1), { list: ['a', { deep: 1 }] })
})

test('setting a path below a scalar is refused', () => {
  const message = /The value at path \/a is not of type object or array but string/
  assert.throws(() => withValueAt({ a: 'x' }, {}, ['a', 'b'], 1), { message })
  assert.throws(() => withValueAt({ a: 'x' }, {}, ['a', 'b', 'c'], 1), { message })
  assert.equal(valueAt({ a: 'x' }, ['a', 'length']), undefined)
  assert.deepEqual(withoutValueAt({ a: 'x' }, ['a', 'b']), { a: 'x' })
})

test('`__proto__` and other names of JavaScript are ordinary names', () => {
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    assert.equal(valueAt({}, [name]), undefined)
    const set = withValueAt({}, {}, ['o', name, 'x'], 1)
    assert.equal(JSON.stringify(set), `{"o":{"${name}":{"x":1}}}`)
    assert.equal(JSON.stringify(mergePatch({}, set)), JSON.stringify(set))
    assert.deepEqual(withoutValueAt(set as Record<string, never>, ['o', name]), { o: {} })
  }
  assert.equal(({} as Record<string, unknown>)['x'], undefined)
})

test('a merge patch follows RFC 7396', () => {
  const patched = mergePatch({ a: 'b', c: { d: 'e', f: 'g' }, h: [1] }, { a: 'z', c: { f: null }, h: { i: null } })
  assert.deepEqual(patched, { a: 'z', c: { d: 'e' }, h: {} })
})

test('a diff lists changed paths, lists as a whole', () => {
  const paths = changedPaths(
    { a: { b: 1, c: [1], same: 0 }, gone: 1 },
    { a: { b: 2, c: [2], same: 0 }, fresh: { x: 1 } },
  )
  assert.deepEqual(paths, ['/a/b', '/a/c', '/gone', '/fresh'])
})
