import { escaped } from '../../html.ts'
import type { Body, Operation, Parameter } from '../shared-parts.ts'
import { definition } from './schema-table.ts'

/** An operation, folded up until somebody wants to know more. */
export function operationSection(method: string, path: string, operation: Operation): string {
  const { summary, security, requestBody, responses } = operation
  const answers = Object.entries(responses).map(
    ([status, body]) => `<h4>${status}</h4><p>${escaped(body.description ?? '')}</p>${contentOf(body)}`,
  )
  const needs = security.length > 0 ? '<p>It needs a token.</p>' : ''
  const asks = requestBody === undefined ? '' : `<h4>Body</h4><p>${escaped(requestBody.description ?? '')}</p>`
  const shapes = requestBody === undefined ? '' : shapesOf(requestBody)
  return `<details id="${anchor(method, path)}"><summary><b class="${method}">${method.toUpperCase()}</b> <code>${escaped(path)}</code>
${escaped(summary)}</summary>${needs}${asks}${shapes}${tryForm(method, path, operation)}<h3>Answers</h3>${answers.join('')}</details>`
}

function anchor(method: string, path: string): string {
  return `${method}-${path.replace('/api/v2/', '').replaceAll(/[^a-z_]+/g, '-')}`
}

function contentOf(body: Body): string {
  const examples = Object.values(body.content ?? {}).flatMap(({ example }) =>
    example === undefined ? [] : [`<pre>${escaped(written(example))}</pre>`],
  )
  return shapesOf(body) + examples.join('')
}

/** The media types of a body, and what is in it. */
function shapesOf({ content = {} }: Body): string {
  const rows = Object.entries(content).map(([type, { schema }]) => {
    const shape = schema?.['$ref'] === undefined ? '' : `: ${definition(schema)}`
    return `<code>${escaped(type)}</code>${shape}`
  })
  return rows.length === 0 ? '' : `<p>${rows.join('<br>')}</p>`
}

function written(example: unknown): string {
  return typeof example === 'string' ? example : JSON.stringify(example, null, 2)
}

/** What is needed to send the request. A WebSocket cannot be tried in this way. */
function tryForm(
  method: string,
  path: string,
  { security, parameters = [], requestBody, responses }: Operation,
): string {
  if ('101' in responses) return ''
  const token = security.length > 0 ? ' data-token' : ''
  return `<form class="try" data-method="${method.toUpperCase()}" data-path="${escaped(path)}"${token}>
${parameters.map(parameterInput).join('')}${requestBody === undefined ? '' : bodyInput(requestBody)}
<button>Send</button> <button type="button" class="stop" hidden>Stop</button><output></output><pre class="answer" hidden></pre></form>`
}

function parameterInput({ name, description, example, in: place }: Parameter): string {
  const kind = place === 'query' ? 'data-query' : 'data-parameter'
  const input = `<input name="${escaped(name)}" ${kind} value="${escaped(example)}">`
  return `<label>${escaped(name)} <i>${escaped(description)}</i>${input}</label>`
}

function bodyInput({ content = {} }: Body): string {
  const [type = '*/*', { example = '' } = {}] = Object.entries(content)[0] ?? []
  if (type === 'multipart/form-data') return '<label>Files <input type="file" name="files" multiple></label>'
  const rows = Math.min(written(example).split('\n').length + 1, 12)
  return `<label>Body <textarea name="body" rows="${rows}" data-type="${escaped(type)}" spellcheck="false">
${escaped(written(example))}</textarea></label>`
}
