import { createHash } from 'node:crypto'
import { escaped } from '../../html.ts'
import type { HttpResponse } from '../../response.ts'
import type { OpenApi, Operation } from '../shared-parts.ts'
import { operationSection } from './operation.ts'
import { definition, schemaAnchor } from './schema-table.ts'
import { script } from './script.ts'
import { style } from './style.ts'

/** The API explorer: shows the OpenAPI document and sends requests. One self-contained response. */
export function openApiPage(document: OpenApi): HttpResponse {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'content-security-policy': policy,
  }
  return { status: 200, headers, body: html(document) }
}

/** Content Security Policy: only this script runs, and it only connects to this node. */
const policy = [
  "default-src 'none'",
  `script-src ${hashSource(script)}`,
  `style-src ${hashSource(style)}`,
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

function hashSource(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}

function html({ info, paths, components }: OpenApi): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  )
  const groups = Map.groupBy(operations, ({ operation }) => operation.tags[0] ?? '')
  const names = [...groups.keys(), 'schemas']
  const sections = Array.from(groups, ([name, members]) => {
    const rows = members.map(({ path, method, operation }) => operationSection(method, path, operation))
    return `<section><h2 id="${escaped(name)}">${escaped(name)}</h2>${rows.join('')}</section>`
  })
  const schemas = Object.entries(components.schemas).map(([name, schema]) => {
    const { description = '' } = schema
    const heading = `<h3 id="${schemaAnchor(name)}">${escaped(name)}</h3><p>${escaped(String(description))}</p>`
    return `${heading}<pre>${definition(schema)}</pre>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escaped(info.title)}: the API</title><link rel="icon" href="data:,"><style>${style}</style></head><body>
<header><h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1><p>${escaped(info.description)}</p>
<nav>${names.map((name) => `<a href="#${escaped(name)}">${escaped(name)}</a>`).join(' ')}
<a href="/api/v2/openapi.json">openapi.json</a></nav>${tokenForm(paths['/api/v2/auth']?.['post'])}</header>
${sections.join('\n')}
<section><h2 id="schemas">schemas</h2>${schemas.join('\n')}</section>
<script>${script}</script></body></html>
`
}

/** The form for the app manifest; requests are sent with a token for it. */
function tokenForm(auth: Operation | undefined): string {
  const manifest = JSON.stringify(auth?.requestBody?.content?.['application/json']?.example)
  return `<form id="token"><label>App manifest that requests are sent with <input name="manifest" value="${escaped(manifest)}"></label></form>`
}
