// A counter that every node of a swarm shows. It needs no library and no address: the API is on the website's own origin.
const manifest = { appId: 'com.example.counter', displayName: 'Counter', version: '1.0.0' }
const tag = 'counter'

const post = (path, token, body) =>
  fetch(`/api/v2/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
    body: JSON.stringify(body),
  })

/** The lines of an answer that goes on for as long as the page is open. */
async function* linesOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    const lines = (rest + piece.value).split('\n')
    rest = lines.pop()
    yield* lines.filter((line) => line !== '')
  }
}

const count = document.getElementById('count')
const add = document.getElementById('add')
const state = document.getElementById('state')

async function run() {
  const { token } = await (await post('auth', undefined, manifest)).json()
  add.onclick = () => post('events/publish', token, { data: [{ tags: [tag], payload: { type: 'counted' } }] })
  add.disabled = false
  let counted = 0
  for await (const line of linesOf(await post('events/subscribe', token, { query: `FROM '${tag}'` }))) {
    const { type } = JSON.parse(line)
    if (type === 'event') counted++
    if (type === 'offsets') state.textContent = 'connected'
    count.textContent = counted
  }
}

// A node that was restarted has forgotten the token, and the subscription has ended.
while (true) {
  const error = await run().catch((reason) => reason)
  state.textContent = error === undefined ? 'connecting' : `connecting (${error.message})`
  await new Promise((resolve) => setTimeout(resolve, 1000))
}
