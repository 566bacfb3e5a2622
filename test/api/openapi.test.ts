import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { descriptions } from '../../src/api/openapi/descriptions.ts'
import { startApi } from '../support/api.ts'

interface Content {
  readonly schema?: object
  readonly example?: unknown
}
interface Part {
  readonly content?: Record<string, Content>
}
interface Operation {
  readonly operationId: string
  readonly security: unknown[]
  readonly requestBody?: Part
  readonly responses: Record<string, Part>
}
interface Document {
  readonly openapi: string
  readonly servers: { readonly url: string }[]
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, object> }
}

async function documentOf(call: (path: string) => Promise<Response>): Promise<Document> {
  return (await (await call('/api/v2/openapi.json')).json()) as Document
}

test('every documented operation exists, and every operation is documented', async (t) => {
  const { url, call } = await startApi(t)
  const { openapi, paths } = await documentOf(call)
  assert.match(openapi, /^3\.1\./)
  const described = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  assert.deepEqual(described.sort(), Object.keys(descriptions).sort())
  for (const key of described) {
    const [method = '', path = ''] = key.split(' ')
    const { security = [] } = paths[path]?.[method.toLowerCase()] ?? {}
    const { status } = await fetch(url + path.replace('{app}', '-').replace('{path}', 'x'), { method })
    assert.notEqual(status, 404, key)
    assert.notEqual(status, 405, key)
    assert.equal(status === 401, security.length > 0, key)
  }
})

test('every operation has a unique operationId that is a valid identifier', async (t) => {
  const { paths } = await documentOf((await startApi(t)).call)
  const ids = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  for (const id of ids) assert.match(id, /^[a-z][A-Za-z]+$/)
  assert.equal(new Set(ids).size, ids.length)
})

test('the servers are the serving node, and the default address for tools that read a file', async (t) => {
  const { url, call } = await startApi(t)
  const { servers } = await documentOf(call)
  assert.deepEqual(
    servers.map((server) => new URL(server.url, `${url}/api/v2/openapi.json`).origin),
    [url, 'http://localhost:4454'],
  )
})

test('every example matches its schema', async (t) => {
  const { components, paths } = await documentOf((await startApi(t)).call)
  const ajv = new Ajv2020({ strict: false })
  ajv.addSchema({ $id: 'api', components })
  let checked = 0
  for (const { requestBody, responses } of Object.values(paths).flatMap((methods) => Object.values(methods)))
    for (const { content = {} } of [requestBody ?? {}, ...Object.values(responses)])
      for (const { schema, example } of Object.values(content)) {
        if (schema === undefined || example === undefined) continue
        const text = JSON.stringify(schema).replaceAll('#/components', 'api#/components')
        assert.ok(ajv.validate(JSON.parse(text) as object, example), `${ajv.errorsText()}: ${JSON.stringify(example)}`)
        checked++
      }
  assert.ok(checked > 10)
})

test('the API explorer shows every operation and schema, and is self-contained', async (t) => {
  const { call } = await startApi(t)
  const { paths, components } = await documentOf(call)
  const response = await call('/api/v2/openapi')
  assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8')
  const page = await response.text()
  for (const path of Object.keys(paths)) assert.ok(page.includes(`<code>${path}</code>`), path)
  for (const name of Object.keys(components.schemas)) assert.ok(page.includes(`id="schema-${name}"`), name)
  const targets = [...page.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target)
  for (const target of targets) assert.ok(page.includes(`id="${target}"`), target)
  assert.deepEqual(page.match(/(?:src|href)="(?!#|data:|\/api\/)[^"]*"/g), null)
})

test('the Content Security Policy of the API explorer allows only its own script, style and node', async (t) => {
  const response = await (await startApi(t)).call('/api/v2/openapi')
  const page = await response.text()
  const hashOf = (tag: string) => {
    const [, text = ''] = new RegExp(`<${tag}>(.*?)</${tag}>`, 's').exec(page) ?? []
    return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  }
  assert.deepEqual(response.headers.get('content-security-policy')?.split('; '), [
    "default-src 'none'",
    `script-src ${hashOf('script')}`,
    `style-src ${hashOf('style')}`,
    'img-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ])
})
