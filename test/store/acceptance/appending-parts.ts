import assert from 'node:assert/strict'
import type { AppendHints, AppendRequest, EventStore } from '../../../src/store/port/index.ts'
import * as fc from '../../support/property.ts'
import { appendParts, linesOf, numbered, numbersOf, range, requestOf, rules, unchanged } from './support.ts'

/** Appending in parts, for stores that support it. */
export const appendingParts = rules<EventStore & AppendHints>(({ small, large }) => {
  small('a request in parts is stored as one request, however it is split', async (t, open) => {
    const stream = fc.constantFrom(0, 0, 0, 5)
    const part = fc.array(stream, { maxLength: 150 })
    await fc.assert(
      fc.asyncProperty(fc.array(part, { minLength: 2, maxLength: 6 }), async (cut) => {
        const [whole, inParts] = [await open(t), await open(t)]
        let n = 0
        const parts = cut.map((streams) => streams.map((stream) => ({ stream, payload: `{"n":${n++}}` })))
        for (const store of [whole, inParts]) await store.append(requestOf([{ payload: '{"n":-1}' }]))
        const expected = await whole.append(requestOf(parts.flat()))
        const { time, ...appended } = await appendParts(inParts, parts)
        assert.deepEqual(appended, { lamport: expected.lamport, runs: expected.runs })
        const lines = await linesOf(inParts)
        assert.ok(lines.slice(1).every(({ timestamp }) => timestamp === time))
        const plain = (all: typeof lines) => all.map(({ lamport, offset, payload }) => [lamport, offset, payload])
        assert.deepEqual(plain(lines), plain(await linesOf(whole)))
        await Promise.all([whole.close(), inParts.close()])
      }),
      { numRuns: 10 },
    )
  })

  small(
    'when a part of a request cannot be produced, the request fails with that error and nothing is stored',
    async (t, open) => {
      const store = await open(t)
      await store.append(requestOf(numbered(5)))
      const failure = new Error('the third part cannot be made')
      function* failing(): Generator<AppendRequest, AppendRequest> {
        yield requestOf(numbered(300, 7, 3))
        throw failure
      }
      await unchanged(store, async () => {
        const first = assert.rejects(store.appendParts(requestOf(numbered(2, 5)), failing()), failure)
        const second = assert.rejects(store.appendParts(requestOf(numbered(2000, 5)), failing()), failure)
        await Promise.all([first, second])
      })
      // Concurrent requests are not affected.
      const [, small, large] = await Promise.allSettled([
        store.appendParts(requestOf(numbered(2, 5)), failing()),
        store.append(requestOf(numbered(1, 5))),
        appendParts(store, [numbered(200, 6), numbered(200, 206), numbered(1, 406)]),
      ])
      assert.deepEqual([small?.status, large?.status], ['fulfilled', 'fulfilled'])
      assert.deepEqual(await numbersOf(store), range(0, 407))
    },
  )

  small('a request with an invalid part is refused, and nothing of it is stored', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(5)))
    const broken = requestOf(numbered(2, 7))
    broken.spans[7] = broken.spans[6] as number
    function* parts(): Generator<AppendRequest, AppendRequest> {
      yield broken
      yield requestOf(numbered(200, 9))
      return requestOf(numbered(1, 209))
    }
    await unchanged(store, () => assert.rejects(store.appendParts(requestOf(numbered(2, 5)), parts())))
    await store.append(requestOf(numbered(1, 5)))
    assert.deepEqual(await numbersOf(store), range(0, 6))
  })

  large('a request in parts may exceed the memory for parts in flight', async (t, open) => {
    const store = await open(t)
    const payload = `"${'x'.repeat(1000)}"`
    const parts = Array.from({ length: 100 }, () => Array.from({ length: 20 }, () => ({ payload })))
    const { runs } = await appendParts(store, parts)
    assert.deepEqual(runs, [{ stream: 0, offset: 0, count: 2000 }])
    assert.equal((await linesOf(store)).length, 2000)
    const [large, small] = await Promise.all([
      appendParts(store, [[{ payload: `"${'y'.repeat(3_000_000)}"` }], [], [{}]]),
      store.append(requestOf([{}])),
    ])
    assert.deepEqual(
      [large.runs, small.runs],
      [[{ stream: 0, offset: 2000, count: 2 }], [{ stream: 0, offset: 2002, count: 1 }]],
    )
  })
})
