import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { control } from '../support/control.ts'
import { type Finding, searchFolder } from '../support/disk-search.ts'
import { temporaryFolder } from '../support/folder.ts'
import { shoal, until } from '../support/process.ts'
import { RunningNode, resultOf, testSwarm } from '../support/running-node.ts'

const secret = 'Erika Mustermann, Heidestrasse 17'

/** Compressible text, so that a compressed payload does not contain the secret as it is. */
const around = (i: number): string => `order ${i} of the customer, with the usual remarks and a number ${i * 7919}`

function eventsOf(count: number, from: number, isSecret: (i: number) => boolean): object[] {
  return Array.from({ length: count }, (_, k) => {
    const i = from + k
    const text = isSecret(i) ? `${around(i)} ${secret} ${around(i + 1)}` : around(i)
    return { tags: isSecret(i) ? ['order', 'personal'] : ['order'], payload: { text } }
  })
}

async function publish({ folder }: RunningNode, data: readonly object[]): Promise<void> {
  const { status } = await control(folder, 'POST', '/events/publish', { body: JSON.stringify({ data }) })
  assert.equal(status, 200)
}

/** Waits until a node has the events of another one. */
async function untilReplicated(source: RunningNode, node: RunningNode): Promise<void> {
  const present = async ({ folder }: RunningNode): Promise<Record<string, number>> =>
    (await control(folder, 'GET', '/events/offsets')).body.present
  await until(
    async () => {
      const [there, here] = [await present(source), await present(node)]
      const isSame = Object.entries(there).every(([stream, offset]) => (here[stream] ?? -1) >= offset)
      return isSame ? true : undefined
    },
    () => node.process.stderr,
  )
}

async function untilFound(node: RunningNode, isEnough: (found: readonly Finding[]) => boolean): Promise<void> {
  let found: readonly Finding[] = []
  await until(
    () => {
      found = searchFolder(node.folder, secret)
      return isEnough(found) ? true : undefined
    },
    () => JSON.stringify(found.slice(0, 10)),
  )
}

const isGone = (found: readonly Finding[]): boolean => found.length === 0
const isThere =
  (...kinds: readonly Finding['as'][]) =>
  (found: readonly Finding[]): boolean =>
    kinds.every((kind) => found.some(({ as }) => as === kind))

test('a redacted text is on no disk of the swarm: in the tail, in segments, on a node that was offline', async (t) => {
  const folder = temporaryFolder(t)
  const temporary = join(folder, 'temporary')
  mkdirSync(temporary)
  const env = { TMPDIR: temporary }
  const start = (name: string, swarm: object, swarmPort = 0) =>
    RunningNode.start(t, join(folder, name), { swarm: { ...testSwarm, ...swarm }, swarmPort, env })
  const first = await start('a', {})
  const peers = { initialPeers: [first.peerAddress] }
  const [second, offline] = await Promise.all([start('b', peers), start('c', peers)])
  // Two chunks and a tail, with large rows that are compressed in the tail, too.
  const isSecret = (i: number): boolean => i % 500 === 77 || i === 2299
  for (let i = 0; i < 2200; i += 550) await publish(first, eventsOf(550, i, isSecret))
  for (let i = 2200; i < 2300; i++) await publish(first, eventsOf(1, i, isSecret))
  for (const node of [second, offline]) await untilReplicated(first, node)
  // In the tail of the first node as it is; received events are in larger rows, which are compressed like segments.
  await untilFound(first, isThere('bytes', 'zstd'))
  for (const node of [second, offline]) await untilFound(node, isThere('zstd'))
  await offline.stop()

  const redacted = await shoal(t, ['events', 'redact', first.folder, '-q', "FROM 'personal'", '--yes', '--json'])
  assert.equal(redacted.code, 0, redacted.stdout)
  assert.equal(JSON.parse(redacted.stdout).result.redacted, 6)
  assert.deepEqual(searchFolder(first.folder, secret), [], 'when the command has ended')
  await untilFound(second, isGone)
  assert.ok(isThere('zstd')(searchFolder(offline.folder, secret)))

  // The tail with redacted events is sealed.
  for (let i = 2300; i < 4400; i += 1050)
    await publish(
      first,
      eventsOf(1050, i, () => false),
    )
  const returned = await start('c', peers)
  await untilReplicated(first, returned)
  await untilFound(returned, isGone)

  const count = 4400 - 6
  const { stdout } = await shoal(t, ['events', 'query', returned.folder, "FROM 'order'", '--json'])
  assert.equal(stdout.split('\n').filter((line) => line.startsWith('{"type":"event"')).length, count)
  assert.ok(!stdout.includes(secret))
  first.process.kill('SIGKILL')
  await first.process.ended
  for (const node of [second, returned]) assert.equal((await node.stop()).code, 0)
  const restarted = await start('a', {}, first.swarmPort)
  const again = await start('b', peers)
  await untilReplicated(restarted, again)
  for (const node of [restarted, again]) assert.deepEqual(searchFolder(node.folder, secret), [])
  for (const node of [restarted, again]) await node.stop()
  assert.deepEqual(searchFolder(folder, secret), [], 'nor in temporary files')
  await resultOf(t, ['store', 'verify', '--working-dir', returned.folder])
})
