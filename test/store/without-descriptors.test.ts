import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tuning } from '../../src/base/tuning.ts'
import { temporaryFolder } from '../support/folder.ts'

const script = fileURLToPath(new URL('../support/without-descriptors.ts', import.meta.url))

interface Outcome {
  readonly failures: readonly string[]
  readonly chunks: number
  readonly without: {
    readonly hasMemory: boolean
    readonly read: number
    readonly put: string
    readonly broken: string
    readonly sealed: number
    readonly failed: readonly string[]
  }
  readonly after: { readonly read: number; readonly put: string }
}

test('a store without free file descriptors keeps working, and starts its threads once there are some', async (t) => {
  const limited = ['-c', 'ulimit -n 256 && exec "$0" "$@"', process.execPath, script, temporaryFolder(t)]
  const { stdout } = await promisify(execFile)('sh', limited, { timeout: 120_000 })
  const { failures, chunks, without, after } = JSON.parse(stdout) as Outcome
  const events = chunks * 1024
  assert.deepEqual(failures, [])
  assert.equal(without.hasMemory, false)
  assert.equal(without.read, events)
  assert.equal(without.put, 'ERR_SERVICE_OVERLOADED')
  assert.equal(without.broken, 'ERR_SERVICE_OVERLOADED')
  assert.deepEqual(without.failed, ['blobs', 'reader', 'sealer'])
  // The writer has sealed chunks itself instead of waiting for the sealer.
  assert.ok(without.sealed >= events - (tuning.maxUnsealedChunks + 2) * 1024, `${without.sealed} events are sealed`)
  assert.deepEqual(after, { read: events, put: 'none' })
})
