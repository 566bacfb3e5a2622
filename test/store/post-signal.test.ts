import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { PostSignal } from '../../src/store/threads/post-signal.ts'

test('waiting ends at once when a message was posted since the count was read', () => {
  const signal = new PostSignal()
  const seen = signal.count
  signal.raise()
  assert.equal(signal.wait(seen, 60_000), true)
})

test('waiting ends at its timeout when nothing is posted', () => {
  const signal = new PostSignal()
  assert.equal(signal.wait(signal.count, 1), false)
  assert.equal(signal.wait(signal.count, 0), false)
})

test('a blocked thread wakes up when another one posts', async (t) => {
  const signal = new PostSignal()
  const module = new URL('../../src/store/threads/post-signal.ts', import.meta.url).href
  const waiter = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads')
     import(${JSON.stringify(module)}).then(({ PostSignal }) => {
       const signal = new PostSignal(workerData)
       const seen = signal.count
       parentPort.postMessage('waiting')
       parentPort.postMessage(signal.wait(seen, 60_000))
     })`,
    { eval: true, workerData: signal.memory },
  )
  t.after(() => waiter.terminate())
  const messages: unknown[] = []
  const woken = new Promise<void>((resolve, reject) => {
    waiter.once('error', reject)
    waiter.on('message', (message) => {
      messages.push(message)
      if (message === 'waiting') signal.raise()
      else resolve()
    })
  })
  await woken
  assert.deepEqual(messages, ['waiting', true])
})
