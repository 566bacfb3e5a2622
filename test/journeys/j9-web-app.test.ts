import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { until } from '../support/process.ts'
import { RunningNode, testSwarm } from '../support/running-node.ts'

/** Visits a website of a node, without a token: `fetch` does not allow the header. */
function visit({ url }: RunningNode, path: string): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, port } = new URL(url)
  const headers = { host: `myapp.shoal.localhost:${port}` }
  return new Promise((resolve, reject) => {
    request({ hostname, port, path, headers, agent: false }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
      .on('error', reject)
      .end()
  })
}

test('J9: deploy a web app through the files API', async (t) => {
  const journey = new Journey(t)
  const a = await RunningNode.start(t, join(journey.folder, 'a'), { swarm: testSwarm })
  const swarm = { ...testSwarm, initialPeers: [a.peerAddress] }
  const b = await RunningNode.start(t, join(journey.folder, 'b'), { swarm })
  const onA = ['--node', a.url]
  const upload = async (version: string): Promise<string> => {
    const folder = join(journey.folder, version)
    mkdirSync(folder)
    writeFileSync(join(folder, 'index.html'), `<link rel="stylesheet" href="style.css"><p>${version}</p>`)
    writeFileSync(join(folder, 'style.css'), 'p { color: red }')
    return (await journey.text('files', 'add', folder, ...onA)).trimEnd()
  }
  const untilShown = (node: RunningNode, version: string) =>
    until(
      async () => ((await visit(node, '/')).text.includes(`<p>${version}</p>`) ? true : undefined),
      () => node.process.stderr,
    )

  const first = await upload('v1')
  // The same content has the same CID.
  const { cid } = await journey.result('files', 'add', join(journey.folder, 'v1'), ...onA)
  assert.equal(cid, first)
  const named = await journey.text('files', 'name', 'myapp', first, ...onA)
  assert.ok(named.includes(`http://myapp.shoal.localhost:${new URL(a.url).port}/`), named)
  await untilShown(a, 'v1')
  assert.deepEqual(await visit(a, '/style.css'), { status: 200, text: 'p { color: red }' })
  await untilShown(b, 'v1')

  const second = await upload('v2')
  assert.notEqual(second, first)
  const renamed = await journey.result('files', 'name', 'myapp', second, ...onA)
  assert.equal(renamed.before, first)
  for (const node of [a, b]) await untilShown(node, 'v2')

  const listed = await journey.result('files', 'ls', ...onA)
  assert.ok(listed.some(({ name, cid }: { name: string | null; cid: string }) => name === 'myapp' && cid === second))
  assert.equal((await journey.result('files', 'name', 'other', second, ...onA)).before, null)
  assert.equal((await journey.result('files', 'unname', 'other', ...onA)).before, second)
  assert.match(await journey.text('files', 'ls', ...onA), new RegExp(`myapp.*${second}|${second}.*myapp`))
  await journey.text('files', 'unname', 'myapp', ...onA)
  for (const node of [a, b])
    await until(
      async () => ((await visit(node, '/')).status === 404 ? true : undefined),
      () => node.process.stderr,
    )
})
