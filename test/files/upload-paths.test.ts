import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { UploadPaths } from '../../src/files/upload-paths.ts'

/** Adds paths until one is refused. Returns the number of accepted paths, and the reason. */
function addUntilRefused(path: (i: number) => string): { added: number; reason: string } {
  const paths = new UploadPaths()
  for (let added = 0; ; added++)
    try {
      paths.add(path(added))
    } catch (error) {
      return { added, reason: (error as Error).message }
    }
}

test('files, directories and path bytes of an upload are limited', () => {
  const files = addUntilRefused((i) => `folder/${i}`)
  assert.equal(files.added, limits.filesPerUpload)
  assert.match(files.reason, /more than 20000 files/)
  const deep = '/d'.repeat(limits.filePathBytes / 2 - 4)
  const folders = addUntilRefused((i) => `${i}${deep}`)
  assert.equal(folders.added, Math.floor(limits.foldersPerUpload / (limits.filePathBytes / 2 - 4)))
  assert.match(folders.reason, /more than 20000 directories/)
  const long = 'x'.repeat(1020)
  const bytes = addUntilRefused((i) => `${String(i).padStart(4, '0')}${long}`)
  assert.equal(bytes.added, limits.pathBytesPerUpload / 1024)
  assert.match(bytes.reason, /more than 4194304 bytes together/)
})

test('a path is split into segments, without a leading slash', () => {
  const paths = new UploadPaths()
  assert.deepEqual(paths.add('/a/b'), ['a', 'b'])
  assert.deepEqual(paths.add('a/c'), ['a', 'c'])
})
