import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { schemas } from '../../src/api/openapi/schemas.ts'

test('the events page lists the fields of a query request, and which of them are required', () => {
  const page = readFileSync(new URL('../../docs/events.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` +\| (required|optional): /gm)].map(([, name, need]) => [name, need])
  const { properties, required } = schemas['QueryRequest'] as { properties: object; required: readonly string[] }
  const members = Object.keys(properties).map((name) => [name, required.includes(name) ? 'required' : 'optional'])
  assert.deepEqual(rows, members)
})
