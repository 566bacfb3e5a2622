import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { fill, signedPrune, signedRedaction, without } from './removals.ts'
import { numbersOf, range, rules, unchanged } from './support.ts'

/** Records of own streams that come from elsewhere: they were made before a backup was restored, or with a stolen key. */
export const holdingOwnRecords = rules(({ small, large }) => {
  large('a replayed prune record of an own stream removes nothing; a local decision does', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key })
    await fill(store)
    const [, checkpoint] = await store.checkpoints(0)
    await unchanged(store, async () => {
      for (const head of [undefined, checkpoint?.head])
        assert.deepEqual(await store.applyPrune(signedPrune(key, 2048), head), { state: 'held' })
    })
    const record = await store.prune(0, 2048)
    assert.deepEqual(await numbersOf(store), range(2048, 3100))
    assert.deepEqual(await store.applyPrune(record), { state: 'known' })
    assert.deepEqual(await store.applyPrune(signedPrune(key, 1024)), { state: 'known' })
  })

  large('a prune record ahead of an own stream moves nothing, also with its head', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const [lost, store] = [await open(t, { key }), await open(t, { key })]
    await fill(lost)
    const record = await lost.prune(0, 2048)
    const [checkpoint] = await lost.checkpoints(0)
    // Without any stream, and with a shorter one.
    await unchanged(store, async () =>
      assert.deepEqual(await store.applyPrune(record, checkpoint?.head), { state: 'held' }),
    )
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
    await store.redact(0, 1030)
    assert.deepEqual(await numbersOf(store), without([1030]))
    assert.deepEqual(await store.applyRedaction(signedRedaction(key, 1030)), { state: 'known' })
  })
})
