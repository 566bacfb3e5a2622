import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { initLocal } from '../../src/cli/commands/local-settings.ts'
import { getSchema } from '../../src/cli/commands/node-settings.ts'
import { inspectNode, listNodes, nodeHealth, shutDownNode } from '../../src/cli/commands/nodes.ts'
import { addKey, claimNode, makeKey, printPublicKey } from '../../src/cli/commands/users.ts'
import { formatPublicKey, KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { socketText } from '../../src/listening/listen.ts'
import { Health } from '../../src/observability/health.ts'
import { schema } from '../../src/settings/index.ts'
import { adminPort, node } from '../support/admin.ts'
import { temporaryFolder } from '../support/folder.ts'
import { addForeignStream } from '../support/foreign-stream.ts'
import { startBareNode } from '../support/node.ts'
import { ShoalProcess, shoal } from '../support/process.ts'

const [anna, bert] = [new KeyPair(Buffer.alloc(32, 2)), new KeyPair(Buffer.alloc(32, 3))]
const publicOf = (user: KeyPair): string => formatPublicKey(user.publicKey)
const identity = anna.toPrivateText()

test('a user makes a key, claims a node by using it, and manages it by its address', async (t) => {
  const config = temporaryFolder(t)
  const env = { XDG_CONFIG_HOME: config }
  const folder = join(temporaryFolder(t), 'data')
  const run = new ShoalProcess(t, ['run', '--random', '--working-dir', folder])
  const made = await shoal(t, ['users', 'keygen'], { env, input: '\n' })
  assert.ok(made.stdout.startsWith(`Your private key has been saved at ${config}/shoal/keys/users/id\n`), made.stdout)
  await run.api()
  const [, port] = await run.logged(/Admin API bound to \/ip4\/127\.0\.0\.1\/tcp\/(\d+)\./)
  const at = `localhost:${port}`
  const set = await shoal(t, ['settings', 'set', '/admin/displayName', 'Press 7', at], { env })
  assert.match(set.stdout, /^Successfully replaced settings at \/admin\/displayName\. Created .*:\nPress 7\n$/)
  await run.logged(/0\S{44} has been added as the first authorized user/)
  const listed = await shoal(t, ['nodes', 'ls', at, folder, '--json'], { env })
  const [first, second] = JSON.parse(listed.stdout).result
  assert.deepEqual([first.connection, first.displayName, first.host], ['reachable', 'Press 7', at])
  assert.deepEqual(second, { ...first, host: folder })
  const other = await shoal(t, ['settings', 'get', '/', at, '-i', bert.toPrivateText()], { env })
  assert.equal(other.code, 1)
  assert.equal(
    other.stderr,
    '[ERR_UNAUTHORIZED] Error: Provided key is not authorized to access the API.\nNext: shoal users add-key DATA_FOLDER   # on the machine of the node\n',
  )
  const stopped = await shoal(t, ['nodes', 'shutdown', at], { env })
  assert.deepEqual([stopped.code, stopped.stdout], [0, 'shutdown request sent\n'])
  assert.equal((await run.ended).code, 0)
  assert.match(run.stderr, /NODE_STOPPED_BY_NODEUI/)
})

test('nodes are listed in the order of the command, with those that cannot be reached', async (t) => {
  const { at } = await adminPort(t)
  const foreign = await adminPort(t)
  await foreign.settings.set(['admin', 'authorizedUsers'], [publicOf(bert)], 'test')
  const folder = join(temporaryFolder(t), 'data')
  await initLocal(folder, false)
  const hosts = [`localhost:${at.port}`, 'localhost:1', `localhost:${foreign.at.port}`, 'a b', folder]
  const named = hosts.map((host) => ({ folder: '', node: host, identity }))
  const { json, text, failed } = await listNodes(named, 5000, true)
  assert.equal(failed, true)
  const [reachable, ...others] = json as { connection: string }[]
  assert.deepEqual(others, [
    { connection: 'unreachable', host: 'localhost:1' },
    { connection: 'unauthorized', host: hosts[2] },
    {
      connection: 'error',
      host: 'a b',
      error: { code: 'ERR_INVALID_INPUT', message: 'cannot interpret a b as address' },
    },
    { connection: 'unreachable', host: folder },
  ])
  const members = ['connection', 'host', 'nodeId', 'displayName', 'startedIso', 'startedUnix', 'version']
  assert.deepEqual(Object.keys(reachable ?? {}), members)
  const lines = (await text()).split('\n')
  assert.match(lines[1] ?? '', /^│ NODE ID +│ DISPLAY NAME +│ HOST +│ STARTED +│ VERSION +│$/)
  assert.match(lines[3] ?? '', /│ Default Node │ localhost:\d+ +│ 1970-01-01T00:00:00\+00:00 │/)
  assert.match(lines[4] ?? '', /^│ shoal was unreachable on host +│ +│ localhost:1 /)
  assert.match(lines[5] ?? '', /^│ Unauthorized on host /)
  assert.match(lines[6] ?? '', /^│ cannot interpret a b as address /)
  assert.equal((await listNodes(named, 5000, false)).failed, false)
})

test('a node that does not answer in time is a timeout', async (t) => {
  const { at } = await adminPort(t)
  const { json } = await listNodes([{ folder: '', node: `localhost:${at.port}`, identity }], 0, false)
  const error = { code: 'ERR_NODE_UNREACHABLE', message: 'timeout' }
  assert.deepEqual(json, [{ connection: 'error', host: `localhost:${at.port}`, error }])
})

test('without a user key no node can be asked by its address', async (t) => {
  const identity = join(temporaryFolder(t), 'missing')
  const named = { folder: '', node: 'localhost:1', identity }
  await assert.rejects(listNodes([{ folder: '.' }, named], 5000, false), { code: 'ERR_PATH_INVALID' })
  await assert.rejects(inspectNode(named), { code: 'ERR_PATH_INVALID' })
})

test('the schema of a node is that of its version', async (t) => {
  const { at } = await adminPort(t)
  const shown = await getSchema({ folder: '', node: `localhost:${at.port}`, identity })
  assert.deepEqual(shown.json, schema)
  assert.deepEqual(JSON.parse(await shown.text()), schema)
})

test('commands for a running node say how to start a stopped one', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  await initLocal(folder, false)
  for (const command of [inspectNode, nodeHealth, shutDownNode])
    await assert.rejects(command({ folder }), {
      code: 'ERR_NODE_UNREACHABLE',
      message: /no node runs\. Start it with `shoal run --working-dir /,
    })
})

test('the health of a node is its phase with the reasons why it is not ready', async (t) => {
  const health = new Health(['API', 'Events'])
  const { at } = await adminPort(t, undefined, { health })
  const named = { folder: '', node: `localhost:${at.port}`, identity }
  const nodeId = nodeIdOf(node.publicKey)
  const shown = async () => {
    const { text, json, failed, note } = await nodeHealth(named)
    return { text: await text(), json, failed, note }
  }
  const described = { nodeId, displayName: 'Default Node' }
  const starting = { component: 'API', state: 'starting' }
  health.set('Events', 'starting', "the node changes to the topic 'a'")
  const events = { component: 'Events', state: 'starting', detail: "the node changes to the topic 'a'" }
  assert.deepEqual(await shown(), {
    text: `Default Node (${nodeId}) is starting, not ready\n  API starting\n  Events starting: the node changes to the topic 'a'`,
    json: { ...described, phase: 'starting', ready: false, problems: [starting, events] },
    failed: true,
    note: `Next: shoal doctor localhost:${at.port}`,
  })
  health.set('API', 'started')
  health.set('Events', 'started')
  assert.deepEqual(await shown(), {
    text: `Default Node (${nodeId}) is running, ready`,
    json: { ...described, phase: 'running', ready: true, problems: [] },
    failed: false,
    note: undefined,
  })
  health.report('Disk', 'there is no room left on the disk')
  const { json, failed } = await shown()
  const disk = { component: 'Disk', state: 'failed', detail: 'there is no room left on the disk' }
  assert.deepEqual(json, { ...described, phase: 'running', ready: false, problems: [disk] })
  assert.equal(failed, true)
})

test('the exit code of nodes health is 0 only for a ready node', async (t) => {
  const health = new Health([])
  const { at } = await adminPort(t, undefined, { health })
  const args = ['nodes', 'health', `localhost:${at.port}`, '--identity', identity]
  const ready = await shoal(t, args)
  assert.deepEqual([ready.code, ready.stderr], [0, ''])
  health.report('Clock', 'the clock is wrong')
  const human = await shoal(t, args)
  assert.deepEqual([human.code, human.stderr], [1, `Next: shoal doctor localhost:${at.port}\n`])
  const machine = await shoal(t, [...args, '--json'])
  assert.deepEqual([machine.code, machine.stderr, JSON.parse(machine.stdout).result.ready], [1, '', false])
  const unreachable = await shoal(t, ['nodes', 'health', 'localhost:1', '--identity', identity, '--json'])
  assert.deepEqual([unreachable.code, JSON.parse(unreachable.stdout).code], [1, 'ERR_NODE_UNREACHABLE'])
})

test('streams are forgotten, and restored backups accepted, through the admin port', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const stream = await addForeignStream(t, folder)
  const { node: running } = await startBareNode(t, { folder })
  const [at] = running.addresses.admin
  assert.ok(at)
  const admin = socketText(at)
  const run = (...args: string[]) => shoal(t, ['store', ...args, '--identity', identity])
  const removed = await run('forget-stream', stream, admin)
  assert.equal(
    removed.stdout.slice(0, -1),
    `Removed all events of the stream ${stream}. They come back if another node of the swarm has them.`,
  )
  const again = await run('forget-stream', stream, admin)
  assert.match(again.stdout, /nothing was removed\. `shoal store stats (\S+)` lists/)
  assert.ok(again.stdout.includes(`\`shoal store stats ${admin}\``), again.stdout)
  assert.match((await run('accept-restored', admin)).stdout, /^There is nothing to accept/)
  for (const words of [['accept-restored'], ['forget-stream', stream]]) {
    assert.match((await run(...words, '127.0.0.1:1')).stderr, /^\[ERR_NODE_UNREACHABLE\]/)
    const stranger = await shoal(t, ['store', ...words, admin, '--identity', bert.toPrivateText()])
    assert.match(stranger.stderr, /^\[ERR_UNAUTHORIZED\]/)
  }
})

test('a key is made, shown, and added to a stopped node once', async (t) => {
  const [path, folder] = [join(temporaryFolder(t), 'anna.key'), join(temporaryFolder(t), 'data')]
  const { json } = await makeKey(path)
  const { publicKey } = json as { publicKey: string }
  assert.deepEqual(json, { privateKeyPath: path, publicKeyPath: `${path}.pub`, publicKey })
  assert.equal((await printPublicKey(path)).json, publicKey)
  await assert.rejects(makeKey(path), { code: 'ERR_FILE_EXISTS' })
  await assert.rejects(addKey(folder, path), { code: 'ERR_PATH_INVALID' })
  await initLocal(folder, false)
  assert.equal(await (await addKey(folder, path)).text(), 'OK')
  await assert.rejects(addKey(folder, path), {
    code: 'ERR_SETTINGS_INVALID',
    message: /UniqueItems condition is not met/,
  })
})

test('a node is claimed with the code of its log', async (t) => {
  const { at, log } = await adminPort(t)
  const [, code = ''] = /one-time code (\S+)\./.exec(log.join('')) ?? []
  const claim = (user: KeyPair, typed?: string) => claimNode(`localhost:${at.port}`, user.toPrivateText(), typed)
  await assert.rejects(claim(anna, '0000'), { code: 'ERR_UNAUTHORIZED' })
  const nodeId = nodeIdOf(node.publicKey)
  assert.deepEqual((await claim(anna, code)).json, { nodeId, firstUser: true })
  assert.deepEqual((await claim(anna)).json, { nodeId, firstUser: false })
  await assert.rejects(claim(bert, code), { code: 'ERR_UNAUTHORIZED' })
})

test('key and code can be passed outside of the arguments, which the process list shows', async (t) => {
  const { at, log } = await adminPort(t)
  const [, code = ''] = /one-time code (\S+)\./.exec(log.join('')) ?? []
  const env = { SHOAL_IDENTITY: identity }
  const args = ['users', 'claim', `localhost:${at.port}`, '--code', '-']
  const claimed = await shoal(t, args, { env, input: `${code}\n` })
  assert.equal(claimed.stdout, `You are the first authorized user of ${nodeIdOf(node.publicKey)}.\n`)
})
