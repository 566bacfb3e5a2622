import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Actyx, EventKey } from '@actyx/sdk'
import { ClientNode } from './node.ts'
import { connected } from './sdk.ts'

const key = (lamport: number): EventKey => ({ lamport, stream: `${'.'.repeat(43)}-0`, offset: lamport })

function store(actyx: Actyx, lamport: number, tag: string, version: number, state: string): Promise<boolean> {
  const offsets = { [key(lamport).stream]: lamport }
  return actyx.snapshotStore.storeSnapshot(
    'type',
    'name',
    key(lamport),
    offsets,
    undefined,
    lamport,
    version,
    tag,
    state,
  )
}

test('the newest snapshot of a fish is retrieved, also after a restart', async (t) => {
  const node = await ClientNode.start(t)
  const first = await connected(t, node)
  assert.equal(await first.snapshotStore.retrieveSnapshot('type', 'name', 1), undefined)
  for (const [lamport, tag] of [
    [1024, '10'],
    [4096, '12'],
    [2048, '11'],
  ] as const)
    assert.equal(await store(first, lamport, tag, 1, `state at ${lamport}`), true)
  const expected = {
    state: 'state at 4096',
    eventKey: key(4096),
    offsets: { [key(1).stream]: 4096 },
    horizon: undefined,
    cycle: 4096,
  }
  assert.deepEqual(await first.snapshotStore.retrieveSnapshot('type', 'name', 1), expected)
  await node.stop('SIGTERM')
  await node.startAgain()
  const second = await connected(t, node)
  assert.deepEqual(await second.snapshotStore.retrieveSnapshot('type', 'name', 1), expected)
})

test('a snapshot of a newer version removes those of older versions', async (t) => {
  const node = await ClientNode.start(t)
  const actyx = await connected(t, node)
  await store(actyx, 1, 'a', 1, 'old')
  await store(actyx, 2, 'a', 2, 'new')
  await store(actyx, 3, 'b', 2, 'newest')
  assert.equal(await actyx.snapshotStore.retrieveSnapshot('type', 'name', 1), undefined)
  assert.equal((await actyx.snapshotStore.retrieveSnapshot('type', 'name', 2))?.state, 'newest')
})

test('a large state survives a round trip', async (t) => {
  const node = await ClientNode.start(t)
  const actyx = await connected(t, node)
  const state = JSON.stringify(Array.from({ length: 20_000 }, (_, i) => `Fisch ${i} 🐟`))
  assert.equal(await store(actyx, 1, 'large', 1, state), true)
  assert.equal((await actyx.snapshotStore.retrieveSnapshot('type', 'name', 1))?.state, state)
})
