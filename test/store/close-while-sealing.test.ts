import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../support/folder.ts'

// Node aborts when a thread is terminated while it creates a zstd context.
test('closing a store while chunks are sealed does not abort the process', (t) => {
  const program = fileURLToPath(new URL('../support/close-while-sealing.ts', import.meta.url))
  const args = ['--no-warnings', program, temporaryFolder(t)]
  const { status, signal, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.deepEqual({ status, signal, stderr }, { status: 0, signal: null, stderr: '' })
})
