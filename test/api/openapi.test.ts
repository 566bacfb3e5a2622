import assert from 'node:assert/strict'
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
  readonly security: unknown[]
  readonly requestBody?: Part
  readonly responses: Record<string, Part>
}
interface Document {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: Record<string, object> }
}

async function documentOf(call: (path: string) => Promise<Response>): Promise<Document> {
  return (await (await call('/api/v2/openapi.json')).json()) as Document
}

test('everything that is described is there, and everything that is there is described', async (t) => {
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

test('every example has the shape that is described', async (t) => {
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
