/** Inline script of the API explorer: sends the requests of its forms, and shows the responses as they stream in. */
export const script = `
'use strict'
/** An endless response is truncated to this. */
const shownCharacters = 100000
let token

async function authenticate() {
  const body = document.forms.token.elements.manifest.value
  const headers = { 'content-type': 'application/json' }
  const response = await fetch('/api/v2/auth', { method: 'POST', headers, body })
  const result = await response.json()
  if (!response.ok) throw new Error('No token: ' + result.message)
  return result.token
}

function requestOf(form, signal) {
  let path = form.dataset.path
  for (const input of form.querySelectorAll('[data-parameter]'))
    path = path.replace('{' + input.name + '}', () => input.value.split('/').map(encodeURIComponent).join('/'))
  const query = new URLSearchParams()
  for (const input of form.querySelectorAll('[data-query]')) if (input.value) query.set(input.name, input.value)
  if (query.size > 0) path += '?' + query
  const headers = {}
  const { body: text, files } = form.elements
  let body
  if (files) {
    body = new FormData()
    for (const file of files.files) body.append('file', file)
  } else if (text) {
    body = text.value
    headers['content-type'] = text.dataset.type === '*/*' ? 'application/octet-stream' : text.dataset.type
  }
  if ('token' in form.dataset) headers.authorization = 'Bearer ' + token
  return [path, { method: form.dataset.method, headers, body, signal }]
}

async function show(response, place) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done = true, value } = (await reader?.read()) ?? {}
    if (done) return
    place.textContent = (place.textContent + value).slice(0, shownCharacters)
  }
}

async function attempt(form) {
  const state = form.querySelector('output')
  const place = form.querySelector('.response')
  const stop = form.querySelector('.stop')
  const abort = new AbortController()
  place.textContent = ''
  state.textContent = '…'
  stop.hidden = place.hidden = false
  stop.onclick = () => abort.abort()
  try {
    if ('token' in form.dataset) token ??= await authenticate()
    const response = await fetch(...requestOf(form, abort.signal))
    // The token has expired: after a day, or with a restart of the node.
    if (response.status === 401) token = undefined
    state.textContent = response.status + ' ' + response.statusText
    await show(response, place)
  } catch (error) {
    state.textContent = abort.signal.aborted ? 'stopped' : error.message
  } finally {
    stop.hidden = true
    place.hidden = place.textContent === ''
  }
}

document.forms.token.addEventListener('submit', (event) => event.preventDefault())
document.forms.token.addEventListener('input', () => { token = undefined })
for (const form of document.querySelectorAll('form.try'))
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    attempt(form)
  })
`
