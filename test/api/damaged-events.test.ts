import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { readerModule } from '../../src/events/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { key, startApi } from '../support/api.ts'
import { temporaryFolder } from '../support/folder.ts'
import { TestSocket } from '../support/socket.ts'

test('a query that reads a damaged event fails with ERR_DATA_DAMAGED, over HTTP and WebSocket', async (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const options = { file, topic: 'default-topic', kind: 'live', key, readerModule } as const
  const written = await SqliteEventStore.open({ ...options, runtime: systemRuntime })
  const publisher = await startApi(t, { store: written })
  for (let i = 0; i < 3; i++) {
    const data = Array.from({ length: 500 }, (_, n) => ({ tags: ['damaged'], payload: { i, n } }))
    assert.equal((await publisher.publish(JSON.stringify({ data }))).status, 200)
  }
  await written.settle()
  await publisher.events.close()
  const database = new DatabaseSync(file)
  const bytes = Buffer.from(
    database.prepare('SELECT block5 AS body FROM segment ORDER BY key LIMIT 1').get()?.['body'] as Uint8Array,
  )
  bytes.writeUInt8(bytes.readUInt8(bytes.length >> 1) ^ 1, bytes.length >> 1)
  database.prepare('UPDATE segment SET block5 = ? WHERE key = (SELECT min(key) FROM segment)').run(bytes)
  database.close()
  const store = await SqliteEventStore.open({ ...options, runtime: systemRuntime })
  t.after(() => store.close())
  const api = await startApi(t, { store })
  const request = { query: "FROM 'damaged'", order: 'asc' }
  const response = await api.call('/api/v2/events/query', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  })
  assert.match((await response.text()).trim().split('\n').at(-1) ?? '', /^\{"code":"ERR_DATA_DAMAGED"/)
  const socket = await TestSocket.open(t, api)
  socket.request(1, 'query', request)
  const error = (await socket.answered(1)).find(({ type }) => type === 'error')
  assert.equal(error?.kind?.['type'], 'serviceError')
  assert.match(String(error?.kind?.['value']), /damaged/)
})
