import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileNameOf } from '../../src/api/file-name.ts'

test('file names are decoded as browsers and other clients encode them', () => {
  const name = (parameters: string) => fileNameOf(`form-data; ${parameters}`)
  assert.equal(name('name="file"; filename="a b.txt"'), 'a b.txt')
  assert.equal(name('filename=plain.txt; name=file'), 'plain.txt')
  assert.equal(name('name="filename=x"; filename="ü/ö.txt"'), 'ü/ö.txt')
  assert.equal(name('filename="say %22hi%22.txt"'), 'say "hi".txt')
  assert.equal(name('filename="say \\"hi\\" \\\\.txt"'), 'say "hi" \\.txt')
  assert.equal(name('filename="100%25.txt"'), '100%25.txt')
  assert.equal(name('filename=""'), '')
})

test('filename* takes precedence over filename in any order', () => {
  const extended = `filename*=UTF-8''100%25%22.txt`
  assert.equal(fileNameOf(`form-data; name="file"; filename="x"; ${extended}`), '100%".txt')
  assert.equal(fileNameOf(`form-data; ${extended}; filename="x"`), '100%".txt')
  assert.throws(() => fileNameOf(`form-data; filename*=UTF-8''%ff`), { code: 'ERR_BAD_REQUEST' })
})

test('a header without a file name yields undefined', () => {
  assert.equal(fileNameOf('form-data; name="file"'), undefined)
  assert.equal(fileNameOf(''), undefined)
})
