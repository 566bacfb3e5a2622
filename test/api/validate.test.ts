import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sqliteStore, startApi } from '../support/api.ts'

async function validate(
  call: (path: string, init: RequestInit) => Promise<Response>,
  body: unknown,
): Promise<{ status: number; answer: Record<string, unknown> }> {
  const response = await call('/api/v2/aql/validate', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, answer: (await response.json()) as Record<string, unknown> }
}

test('a query is validated without being run', async (t) => {
  const { call, readings } = await startApi(t, { store: await sqliteStore(t) })
  assert.deepEqual(await validate(call, { query: "FROM 'a' & isLocal LIMIT 3" }), {
    status: 200,
    answer: { valid: true, canonical: "FROM ('a' & isLocal) LIMIT 3 END", features: ['limit'] },
  })
  const { answer } = await validate(call, { query: 'FROM x' })
  assert.deepEqual([answer['valid'], answer['position']], [false, 5])
  assert.match(String(answer['error']), /^ --> 1:6\n/)
  assert.equal(readings.length, 2, 'validation runs as a reading, so that a long query does not block others')
})

test('a query of any length is validated, and its canonical form is complete', async (t) => {
  const { call } = await startApi(t, { store: await sqliteStore(t) })
  const tags = Array.from({ length: 50_000 }, (_, i) => `'tag${i}'`)
  const { answer } = await validate(call, { query: `FROM ${tags.join('|')}` })
  assert.ok(answer['canonical'] === `FROM ${tags.join(' | ')} END`)
})

test('a query is validated for the endpoint that it is meant for', async (t) => {
  const { call } = await startApi(t, { store: await sqliteStore(t) })
  const { answer } = await validate(call, { query: "FROM 'a' LIMIT 3", endpoint: 'subscribe_monotonic' })
  assert.equal(answer['valid'], false)
  assert.match(String(answer['error']), /^Feature `limit` is not supported/)
  const { status } = await validate(call, { query: "FROM 'a'", endpoint: 'elsewhere' })
  assert.equal(status, 400)
})
