import { escaped } from '../../html.ts'
import type { Body, Operation, Parameter } from '../shared-parts.ts'
import { definition } from './schema-table.ts'

/** An operation as a collapsed section. */
export function operationSection(method: string, path: string, operation: Operation): string {
  const { summary, security, requestBody, responses } = operation
  const responseSections = Object.entries(responses).map(
    ([status, body]) => `<h4>${status}</h4><p>${escaped(body.description ?? '')}</p>${contentOf(body)}`,
  )
  const authNote = security.length > 0 ? '<p>Requires a token.</p>' : ''
  const bodyHeading = requestBody === undefined ? '' : `<h4>Body</h4><p>${escaped(requestBody.description ?? '')}</p>`
  const shapes = requestBody === undefined ? '' : shapesOf(requestBody)
  return `<details id="${anchor(method, path)}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escaped(path)}</code>
${escaped(summary)}</summary>${authNote}${bodyHeading}${shapes}${tryForm(method, path, operation)}<h3>Responses</h3>${responseSections.join('')}</details>`
}

function anchor(method: string, path: string): string {
  return `${method}-${path.replace('/api/v2/', '').replaceAll(/[^a-z_]+/g, '-')}`
}

function contentOf(body: Body): string {
  const examples = Object.values(body.content ?? {}).flatMap(({ example }) =>
    example === undefined ? [] : [`<pre>${escaped(formatted(example))}</pre>`],
  )
  return shapesOf(body) + examples.join('')
}

/** The media types of a body with their schemas. */
function shapesOf({ content = {} }: Body): string {
  const rows = Object.entries(content).map(([type, { schema }]) => {
    const shape = schema?.['$ref'] === undefined ? '' : `: ${definition(schema)}`
    return `<code>${escaped(type)}</code>${shape}`
  })
  return rows.length === 0 ? '' : `<p>${rows.join('<br>')}</p>`
}

function formatted(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}

/** The form to send a request. Not for WebSocket upgrades: `fetch` cannot open a WebSocket. */
function tryForm(
  method: string,
  path: string,
  { security, parameters = [], requestBody, responses }: Operation,
): string {
  if ('101' in responses) return ''
  const token = security.length > 0 ? ' data-token' : ''
  return `<form class="try" data-method="${method.toUpperCase()}" data-path="${escaped(path)}"${token}>
${parameters.map(parameterInput).join('')}${requestBody === undefined ? '' : bodyInput(requestBody)}
<button>Send</button> <button type="button" class="stop" hidden>Stop</button><output></output><pre class="response" hidden></pre></form>`
}

function parameterInput({ name, description, example, in: place }: Parameter): string {
  const kind = place === 'query' ? 'data-query' : 'data-parameter'
  const input = `<input name="${escaped(name)}" ${kind} value="${escaped(example)}">`
  return `<label>${escaped(name)} <i>${escaped(description)}</i>${input}</label>`
}

function bodyInput({ content = {} }: Body): string {
  const [type = '*/*', { example = '' } = {}] = Object.entries(content)[0] ?? []
  if (type === 'multipart/form-data') return '<label>Files <input type="file" name="files" multiple></label>'
  const rows = Math.min(formatted(example).split('\n').length + 1, 12)
  return `<label>Body <textarea name="body" rows="${rows}" data-type="${escaped(type)}" spellcheck="false">
${escaped(formatted(example))}</textarea></label>`
}
