import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { readChunk } from '../../../src/replication/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { Selection } from '../../../src/store/port/index.ts'
import { payloadsOf } from '../../support/events.ts'
import { fill, signedPrune, signedRedaction, without } from './removals.ts'
import { memoryStore } from './sources.ts'
import {
  assertSame,
  chunksOf,
  endOf,
  everything,
  hex,
  isMalformed,
  linesOf,
  numbered,
  numbersOf,
  range,
  refused,
  replicate,
  requestOf,
  rules,
  StartedRead,
  textOf,
  unchanged,
} from './support.ts'

/** Redaction. */
export const redacting = rules(({ small, large }) => {
  /** Edge cases: the ends of the stream, of blocks, frames and chunks, and adjacent events. */
  const places = [0, 1, 127, 128, 500, 1023, 1024, 1025, 2047, 3071, 3072, 3073, 3099]

  large('a redacted event is skipped by queries; other payloads and all offsets do not change', async (t, open) => {
    const store = await open(t)
    await fill(store)
    const before = await linesOf(store)
    for (const [i, offset] of places.entries()) {
      await store.redact(0, [offset])
      if (i % 4 === 0)
        assert.deepEqual(
          await linesOf(store),
          before.filter((line) => !places.slice(0, i + 1).includes(line.offset)),
        )
    }
    const kept = before.filter(({ offset }) => !places.includes(offset))
    assertSame(await linesOf(store), kept)
    assertSame(await linesOf(store, { ...everything, order: 'desc' }), kept.toReversed())
    assert.deepEqual(
      await numbersOf(store, { anyOf: [{ tags: ['of7:0'] }], order: 'asc' }),
      without(places).filter((n) => n % 7 === 0),
    )
    assert.deepEqual(await numbersOf(store, { anyOf: [{ tags: ['id:128'] }], order: 'asc' }), [])
    assert.deepEqual(
      (await store.streams()).map(({ count, pruned }) => [count, pruned]),
      [[3100, 0]],
    )
    assert.deepEqual((await store.append(requestOf(numbered(1, 3100)))).runs, [{ stream: 0, offset: 3100, count: 1 }])
  })

  large('redacting an event again changes nothing', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.redact(0, [7])
    await unchanged(store, () => store.redact(0, [7]))
  })

  small('all events from the start of a stream can be redacted', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(10)))
    for (const offset of [2, 0, 1]) await store.redact(0, [offset])
    assert.deepEqual(await numbersOf(store), range(3, 10))
    for (const offset of range(3, 10)) await store.redact(0, [offset])
    assert.deepEqual(await numbersOf(store), [])
  })

  small('redacting an unknown event is refused', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(10)))
    await unchanged(store, async () => {
      await assert.rejects(store.redact(0, [10]), refused)
      await assert.rejects(store.redact(1, [0]), refused)
    })
  })

  large('the redacted offsets of a range are known, in the tail and in segments', async (t, open) => {
    const store = await open(t)
    await fill(store)
    assert.deepEqual(await store.redactedOffsets(0, 0, 3100), [])
    await store.redact(0, places)
    assert.deepEqual(await store.redactedOffsets(0, 0, 3100), places)
    assert.deepEqual(await store.redactedOffsets(0, 127, 1024), [127, 128, 500, 1023])
    assert.deepEqual(await store.redactedOffsets(1, 0, 3100), [])
  })

  large('redacted chunks are verified by other stores, and contain neither payload nor salt', async (t, open) => {
    const [store, other] = [await open(t), memoryStore()]
    await fill(store)
    const before = (await chunksOf(store)).map((chunk) => readChunk(chunk))
    for (const offset of places) await other.applyRedaction(await store.redact(0, [offset]))
    const chunks = await chunksOf(store)
    for (const [i, chunk] of chunks.entries()) {
      assert.equal((await other.receive(chunk)).state, 'stored')
      for (const [j, frame] of readChunk(chunk).frames.entries()) {
        const removed = payloadsOf(frame).flatMap((payload, k) => (payload === null ? [frame.first + k] : []))
        assert.deepEqual(
          removed,
          places.filter((offset) => offset >= frame.first && offset < frame.first + frame.count),
        )
        // All salts of a frame are derived from its seed.
        const seed = before[i]?.frames[j]?.seed as Buffer
        assert.equal(Buffer.from(chunk).includes(seed), removed.length === 0)
      }
    }
    assert.equal(await textOf(other), await textOf(store))
  })

  large('other nodes apply a redaction record', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(source)
    await replicate(source, store)
    for (const offset of places) await store.applyRedaction(await source.redact(0, [offset]))
    assert.deepEqual(await numbersOf(store), without(places))
    assert.deepEqual((await chunksOf(store)).slice(0, 3).map(hex), (await chunksOf(source)).slice(0, 3).map(hex))
  })

  large('a redaction record that arrives before its event is applied when the event arrives', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await fill(source)
    const chunks = await chunksOf(source)
    const waiting = chunks[2] as Uint8Array
    await store.applyRedaction(await source.redact(0, [5]))
    assert.deepEqual(
      (await store.streams()).map(({ count }) => count),
      [0],
    )
    assert.equal((await store.receive(waiting, { before: endOf(chunks[1]) })).state, 'waiting')
    for (const offset of [0, 1030, 2048, 3099]) await store.applyRedaction(await source.redact(0, [offset]))
    for (const chunk of chunks) await store.receive(chunk)
    assert.deepEqual(await numbersOf(store), without([0, 5, 1030, 2048, 3099]))
    assert.deepEqual((await chunksOf(store)).slice(0, 3).map(hex), (await chunksOf(source)).slice(0, 3).map(hex))
  })

  large('a redacted payload is not restored by a chunk that still has it', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await source.append(requestOf(numbered(500)))
    await replicate(source, store)
    await source.append(requestOf(numbered(500, 500)))
    const whole = (await source.chunk(0, 0)) as Uint8Array
    await store.applyRedaction(await source.redact(0, [3]))
    await store.receive(whole)
    await store.receive(whole)
    assert.deepEqual(await numbersOf(store), without([3], 1000))
  })

  small('a redaction record of another topic, or with an invalid signature, is refused', async (t, open) => {
    const [store, key] = [await open(t), KeyPair.generate(systemRandom)]
    const damaged = signedRedaction(key, 0)
    damaged[40] = (damaged[40] ?? 0) ^ 1
    await unchanged(store, async () => {
      await assert.rejects(store.applyRedaction(signedRedaction(key, 0, 'another-topic')), refused)
      await assert.rejects(store.applyRedaction(damaged), isMalformed)
      await assert.rejects(store.applyRedaction(signedPrune(key, 0)), isMalformed)
    })
  })

  large('redacting a pruned event has no effect, and later redactions work', async (t, open) => {
    const store = await open(t)
    await fill(store)
    await store.redact(0, [10])
    await store.redact(0, [2050])
    await store.prune(0, 2048)
    await unchanged(store, () => store.redact(0, [2000]))
    await store.redact(0, [2048])
    await store.redact(0, [3080])
    assert.deepEqual(await numbersOf(store), without([2048, 2050, 3080]).slice(2048))
  })

  large('a read in progress does not return an event that is redacted before the read reaches it', async (t, open) => {
    const store = await open(t)
    const payload = (n: number) => `{"n":${n},"text":"${'x'.repeat(3000)}"}`
    const events = range(0, 2500).map((n) => ({ tags: [`half:${n % 2}`], payload: payload(n) }))
    await store.append(requestOf(events))
    await store.append(requestOf(range(2500, 2600).map((n) => ({ payload: payload(n) }))))
    const selections: Selection[] = [
      everything,
      { ...everything, order: 'desc' },
      { ...everything, order: 'stream-asc' },
      { anyOf: [{ tags: ['half:0'] }], order: 'asc' },
    ]
    const reads = await Promise.all(selections.map((selection) => StartedRead.read(store, selection)))
    // Far from both ends: no read gets here ahead of a consumer that has only taken the first piece.
    const removed = [1022, 1024, 1026, 1300]
    for (const offset of removed) await store.redact(0, [offset])
    for (const [i, selection] of selections.entries()) {
      const offsets = ((await reads[i]?.rest()) ?? []).map(({ offset }) => offset)
      assert.deepEqual(
        offsets.filter((offset) => removed.includes(offset)),
        [],
        JSON.stringify(selection),
      )
      const expected = (await linesOf(store, selection)).map(({ offset }) => offset)
      assert.deepEqual(offsets, expected)
    }
  })
})
