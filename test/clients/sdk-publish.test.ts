import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { Tag, Tags } from '@actyx/sdk'
import { ClientNode } from './node.ts'
import { connected, manifest, numbers } from './sdk.ts'

const node = await ClientNode.start({ after })

test('the SDK gets the node ID and a version that supports all its features', async (t) => {
  const actyx = await connected(t, node)
  assert.equal(actyx.nodeId, await (await fetch(`${node.url}/api/v2/node/id`)).text())
  const info = await actyx.nodeInfo(0)
  assert.match(info.semVer(), /^(2\.(1[2-9]|[2-9]\d)|[3-9])/)
  assert.equal(info.connectedNodes(), 0)
})

test('publish returns the metadata of an event', async (t) => {
  const actyx = await connected(t, node)
  const before = await actyx.present()
  const meta = await actyx.publish(Tags('one', 'é').apply({ text: 'ö' }))
  assert.equal(meta.appId, manifest.appId)
  assert.equal(meta.stream, `${actyx.nodeId}-0`)
  assert.equal(meta.offset, (before[meta.stream] ?? -1) + 1)
  assert.deepEqual(meta.tags, ['one', 'é'])
  assert.ok(Math.abs(meta.timestampAsDate().getTime() - Date.now()) < 60_000)
  assert.equal((await actyx.present())[meta.stream], meta.offset)
})

test('events of one publish get consecutive offsets in order', async (t) => {
  const actyx = await connected(t, node)
  const metas = await actyx.publish(Tags('many').apply(...numbers(1000)))
  const first = metas[0]?.offset ?? Number.NaN
  assert.deepEqual(
    metas.map(({ offset }) => offset - first),
    numbers(1000),
  )
  const { events } = await actyx.queryAllKnown({ query: Tags('many') })
  assert.deepEqual(
    events.map(({ payload }) => payload),
    numbers(1000),
  )
  assert.deepEqual(await actyx.publish([]), [])
})

test('emit notifies when the events are stored', async (t) => {
  const actyx = await connected(t, node)
  const tag = Tag<{ id: string }>('emitted', ({ id }) => id)
  const pending = actyx.emit([tag.applyTyped({ id: 'a' }), tag.applyTyped({ id: 'b' })])
  const notified = new Promise((resolve) => pending.subscribe(resolve))
  const metas = await pending.toPromise()
  assert.deepEqual(await notified, metas)
  assert.deepEqual(
    metas.map(({ tags }) => tags),
    [
      ['emitted', 'emitted:a'],
      ['emitted', 'emitted:b'],
    ],
  )
})

test('any JSON value survives a round trip', async (t) => {
  const actyx = await connected(t, node)
  const values = [null, true, 0, -1.5e-7, Number.MAX_SAFE_INTEGER, '', '\u2028 "\\ 🐟', [], {}, [[{ a: [null] }]]]
  await actyx.publish(values.map((event) => ({ tags: ['json'], event })))
  const { events } = await actyx.queryAllKnown({ query: Tags('json') })
  assert.deepEqual(
    events.map(({ payload }) => payload),
    values,
  )
})

test('an invalid event is rejected, and the connection stays usable', async (t) => {
  const actyx = await connected(t, node)
  await assert.rejects(actyx.publish({ tags: [''], event: 1 }), /badRequest.*non-empty string/)
  const meta = await actyx.publish({ tags: ['good'], event: 1 })
  assert.ok(meta.offset > 0)
})

test('a single node is in sync', async (t) => {
  const actyx = await connected(t, node)
  assert.deepEqual((await actyx.offsets()).toReplicate, {})
})
