import assert from 'node:assert/strict'
import { once } from 'node:events'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'

const isLinux = process.platform === 'linux'

test('a thread lowers its own scheduling priority only', { skip: !isLinux }, async () => {
  const before = getPriority()
  const code = `
    const { parentPort } = require('node:worker_threads')
    const { readlinkSync } = require('node:fs')
    const { getPriority } = require('node:os')
    const thread = Number(readlinkSync('/proc/thread-self').split('/').pop())
    import(${JSON.stringify(new URL('../src/runtime/thread-priority.ts', import.meta.url).href)}).then(({ lowerPriority }) => {
      lowerPriority(3)
      const once = getPriority(thread)
      lowerPriority(100)
      parentPort.postMessage([once, getPriority(thread)])
    })`
  const worker = new Worker(code, { eval: true })
  const [priorities] = (await once(worker, 'message')) as [number[]]
  assert.deepEqual(priorities, [before + 3, 19])
  assert.equal(getPriority(), before)
  await worker.terminate()
})
