import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { type Head, heads } from '../../../src/protocol/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { checkpointsOf, fill, signedPruneAt, signedRedaction, without } from './removals.ts'
import { numbered, numbersOf, range, requestOf, rules, unchanged } from './support.ts'

/** Records of own streams that come from elsewhere: they were made before a backup was restored, or with a stolen key. */
export const holdingOwnRecords = rules(({ small, large }) => {
  small('what was last saved about the clock is found', async (t, open) => {
    const store = await open(t)
    assert.equal(await store.clockRecord(), undefined)
    for (const record of ['{}', '{"seen":1}']) await store.saveClockRecord(record)
    assert.equal(await store.clockRecord(), '{"seen":1}')
  })

  large('a replayed prune record of an own stream removes nothing; a local decision does', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key })
    await fill(store)
    const [first, second] = (await checkpointsOf(store)) as [Head, Head]
    await unchanged(store, async () => {
      for (const head of [undefined, heads.sign(second, key)])
        assert.deepEqual(await store.applyPrune(signedPruneAt(key, second), head), { state: 'held' })
    })
    const record = await store.prune(0, 2048)
    assert.deepEqual(await numbersOf(store), range(2048, 3100))
    assert.deepEqual(await store.applyPrune(record), { state: 'known' })
    assert.deepEqual(await store.applyPrune(signedPruneAt(key, first)), { state: 'known' })
  })

  large('a prune record ahead of an own stream moves nothing, also with its head', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [lost, store] = [await open(t, { key }), await open(t, { key })]
    await fill(lost)
    const record = await lost.prune(0, 2048)
    const [checkpoint] = await lost.checkpoints(0)
    const held = () =>
      unchanged(store, async () =>
        assert.deepEqual(await store.applyPrune(record, checkpoint?.head), { state: 'held' }),
      )
    await held()
    await store.append(requestOf(numbered(10)))
    await held()
  })

  small('a replayed redaction record of an own stream removes no payload; a local decision does', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key })
    await unchanged(store, async () =>
      assert.deepEqual(await store.applyRedaction(signedRedaction(key, 0)), { state: 'held' }),
    )
    await fill(store)
    await unchanged(store, async () => {
      for (const offset of [0, 1030, 3099, 3100])
        assert.deepEqual(await store.applyRedaction(signedRedaction(key, offset)), { state: 'held' })
    })
    await store.redact(0, [1030])
    assert.deepEqual(await numbersOf(store), without([1030]))
    assert.deepEqual(await store.applyRedaction(signedRedaction(key, 1030)), { state: 'known' })
  })
})
