// Starts two nodes on this machine and shows how an event that is published on one arrives at the other.
//
//   node examples/two-nodes/two-nodes.mjs           # shows it, and stops the nodes
//   node examples/two-nodes/two-nodes.mjs --keep    # leaves them running until Ctrl+C
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const shoal = process.env.SHOAL ?? fileURLToPath(new URL('../../bin/shoal', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'two-nodes-'))
// A swarm of their own: other nodes on the network have another key.
const swarmKey = Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')
const nodes = []

/** Runs a command of shoal. */
function run(...args) {
  const { status, stderr } = spawnSync(process.execPath, [shoal, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`shoal ${args.join(' ')} failed: ${stderr}`)
}

/** Starts a node that connects to the given peers. */
async function start(name, initialPeers) {
  const data = join(folder, name)
  run('settings', 'local', 'init', '--working-dir', data)
  run(
    'settings',
    'local',
    'set',
    '/swarm',
    JSON.stringify({ swarmKey, initialPeers, mdns: false }),
    '--working-dir',
    data,
  )
  const ports = ['--bind-api', '127.0.0.1:0', '--bind-admin', '127.0.0.1:0', '--bind-swarm', '127.0.0.1:0']
  const args = [shoal, 'run', '--working-dir', data, ...ports, '--print-addresses', '--exit-on-stdin-close']
  const { SHOAL_STANDALONE: _, ...env } = process.env
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'], env })
  nodes.push(child)
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => {
    log = (log + text).slice(-10_000)
  })
  const line = await Promise.race([once(createInterface(child.stdout), 'line'), once(child, 'exit')])
  if (typeof line[0] !== 'string') throw new Error(`${name} did not start:\n${log}`)
  const { peerId, api, swarm: bound } = JSON.parse(line[0])
  const node = { name, api: `http://${api[0]}`, at: `/ip4/127.0.0.1/tcp/${bound[0].split(':').at(-1)}/p2p/${peerId}` }
  console.log(`${name} runs: its API is ${node.api}, other nodes reach it at ${node.at}`)
  return node
}

/** A function that sends requests to the API of a node. */
async function client({ api }) {
  const manifest = { appId: 'com.example.two-nodes', displayName: 'Two nodes', version: '1.0.0' }
  const json = { 'content-type': 'application/json' }
  const auth = await fetch(`${api}/api/v2/auth`, { method: 'POST', headers: json, body: JSON.stringify(manifest) })
  const headers = { ...json, authorization: `Bearer ${(await auth.json()).token}` }
  return (path, body) =>
    fetch(`${api}/api/v2/${path}`, {
      headers,
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
}

/** The events of a subscription, as they arrive. */
async function* events(response) {
  let rest = ''
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop()
    for (const line of lines) if (line !== '' && JSON.parse(line).type === 'event') yield JSON.parse(line)
  }
}

async function show() {
  const first = await start('node 1', [])
  const publisher = await client(first)
  const publish = (hello) => publisher('events/publish', { data: [{ tags: ['greeting'], payload: { hello } }] })
  await publish('from node 1, while it is alone')

  const second = await start('node 2', [first.at])
  const reader = await client(second)
  const arriving = events(await reader('events/subscribe', { query: "FROM 'greeting'" }))
  const show = async () => console.log(`node 2 has received ${JSON.stringify((await arriving.next()).value.payload)}`)
  await show()
  let connectedNodes = 0
  while (connectedNodes === 0) {
    // The figures of the swarm are up to a second old.
    await new Promise((resolve) => setTimeout(resolve, 100))
    connectedNodes = (await (await reader('node/info')).json()).connectedNodes
  }
  console.log(`node 2 is connected to ${connectedNodes} other node`)

  const begun = performance.now()
  await publish('from node 1, live')
  await show()
  console.log(`This took ${Math.round(performance.now() - begun)} ms.`)

  if (!process.argv.includes('--keep')) return
  console.log('Both nodes run until Ctrl+C.')
  await once(process, 'SIGINT')
}

try {
  await show()
} finally {
  // A node stops when its input ends, also when this process is killed.
  for (const child of nodes) child.stdin.end()
  await Promise.all(nodes.map((child) => child.exitCode ?? once(child, 'exit')))
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
