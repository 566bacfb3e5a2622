import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { MessagePort, Worker } from 'node:worker_threads'
import { CalledThread, type DiskNotice, type DiskUse } from '../../src/store/index.ts'
import { until } from '../support/process.ts'
import type { RefusedCalls } from '../support/refused-calls-thread.ts'

function open(t: TestContext) {
  const notices: DiskNotice[] = []
  const module = new URL('../support/refused-calls-thread.ts', import.meta.url)
  const disk: DiskUse<RefusedCalls> = {
    notify: (notice) => notices.push(notice),
    work: { store: 'blob_write', read: 'blob_read', fail: 'blob_read' },
    proof: new Set(['store']),
  }
  const thread = new CalledThread<RefusedCalls>('blobs', module, undefined, { disk })
  t.after(() => thread.close())
  return { thread, notices }
}

test('a call that fails on a disk error returns 503 and is reported, and so is its next success', async (t) => {
  const { thread, notices } = open(t)
  await thread.call('store', [false])
  assert.deepEqual(notices, [])
  const stored = { code: 'ERR_STORAGE', status: 503, message: /no room left on the disk/ }
  for (let i = 0; i < 2; i++) await assert.rejects(thread.call('store', [true]), stored)
  const read = { code: 'ERR_STORAGE_READ', status: 503, message: /could not be read: EIO/ }
  await assert.rejects(thread.call('read', []), read)
  await assert.rejects(thread.call('fail', []), { message: 'a defect' })
  await thread.call('store', [false])
  await thread.call('store', [false])
  const refused = 'there is no room left on the disk'
  assert.deepEqual(notices.splice(0), [
    { work: 'blob_write', refused },
    { work: 'blob_write', refused },
    { work: 'blob_read', refused: 'EIO: i/o error, read' },
    { work: 'blob_write' },
  ])
  thread.recovered()
  assert.deepEqual(notices, [{ work: 'blob_read' }])
})

test('calls run in order, also when one of them is asynchronous', async (t) => {
  const { thread } = open(t)
  const order: unknown[] = []
  await Promise.all([
    thread.call('wait', [1]).then((value) => order.push(value)),
    thread.call('store', [false]).then(() => order.push(2)),
    thread.call('wait', [3]).then((value) => order.push(value)),
  ])
  assert.deepEqual(order, [1, 2, 3])
})

/** Calls `echo` over a link. Returns the replies and notices in order. */
function echoes(port: MessagePort, texts: readonly string[]): { readonly seen: string[]; readonly isClosed: boolean } {
  const result = { seen: [] as string[], isClosed: false }
  port.on('message', ({ notice, result: reply }: { notice?: string; result?: string }) =>
    result.seen.push(notice === undefined ? `reply ${reply}` : `notice ${notice}`),
  )
  port.on('close', () => {
    result.isClosed = true
  })
  for (const [id, text] of texts.entries()) port.postMessage({ id, name: 'echo', args: [text] })
  return result
}

test('a linked thread calls and gets notices; calls of the main thread and its own take turns', async (t) => {
  const { thread } = open(t)
  const port = await thread.link()
  const order: unknown[] = []
  const calls = [1, 2, 3].map((value) => thread.call('wait', [value]).then(() => order.push(value)))
  port.on('message', ({ result }: { result?: string }) => result !== undefined && order.push(result))
  const { seen } = echoes(port, ['a', 'b'])
  await Promise.all(calls)
  await until(
    () => seen.length === 4 || undefined,
    () => seen.join(),
  )
  assert.deepEqual(seen, ['notice a', 'reply a', 'notice b', 'reply b'])
  assert.ok(order.indexOf('b') < order.indexOf(3), order.join())
  port.close()
  await until(
    async () => (await thread.call('endedLinks', [])) === 1 || undefined,
    () => 'the link has not ended',
  )
})

test('a link ends with the thread, and a new link starts another thread', async (t) => {
  const { thread } = open(t)
  const echoed = echoes(await thread.link(), [])
  await assert.rejects(thread.call('end', []))
  await until(
    () => echoed.isClosed || undefined,
    () => 'the port is still open',
  )
  const port = await thread.link()
  const again = echoes(port, ['a'])
  await until(
    () => again.seen.includes('reply a') || undefined,
    () => again.seen.join(),
  )
  port.close()
})

test('a thread that cannot close its object ends all the same', async (t) => {
  const workers: Worker[] = []
  const record = (worker: Worker): void => void workers.push(worker)
  process.on('worker', record)
  t.after(() => process.off('worker', record))
  const module = new URL('../support/refused-calls-thread.ts', import.meta.url)
  const thread = new CalledThread<RefusedCalls>('files', module, undefined)
  await thread.call('refuseClose', [])
  await assert.rejects(thread.close(), /a defect/)
  assert.deepEqual(
    workers.map(({ threadId }) => threadId),
    [-1],
  )
})
