import assert from 'node:assert/strict'
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolders, removeEmptyFolders } from '../../src/store/disk/make-folders.ts'
import { temporaryFolder } from '../support/folder.ts'

test('missing parents are created, private, and returned the outermost first', (t) => {
  const root = temporaryFolder(t)
  const path = join(root, 'a', 'b', 'c')
  assert.deepEqual(makeFolders(path), [join(root, 'a'), join(root, 'a', 'b'), path])
  assert.equal(statSync(path).mode & 0o777, 0o700)
  assert.deepEqual(makeFolders(path), [])
  assert.deepEqual(makeFolders(join(path, 'd')), [join(path, 'd')])
})

test('a path that cannot be created leaves no parents behind', (t) => {
  const root = temporaryFolder(t)
  assert.throws(() => makeFolders(join(root, 'a', 'b', 'x'.repeat(300))), { code: 'ENAMETOOLONG' })
  assert.deepEqual(readdirSync(root), [])
})

test('a path below a file is refused', (t) => {
  const file = join(temporaryFolder(t), 'file')
  writeFileSync(file, '')
  assert.throws(() => makeFolders(join(file, 'a', 'b')), { code: 'ENOTDIR' })
})

test('a file system that creates no directories is an error, not an endless loop', {
  skip: !existsSync('/proc/self') && 'there is no /proc',
}, () => {
  assert.throws(() => makeFolders('/proc/shoal/data'), { code: 'ENOENT' })
})

test('only directories with nothing in them are removed again', (t) => {
  const root = temporaryFolder(t)
  const made = makeFolders(join(root, 'a', 'b', 'c'))
  writeFileSync(join(root, 'a', 'kept'), '')
  removeEmptyFolders(made)
  assert.deepEqual(readdirSync(root, { recursive: true }).sort(), ['a', join('a', 'kept')])
})
