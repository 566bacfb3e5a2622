import assert from 'node:assert/strict'
import { KeyPair } from '../../../src/identity/index.ts'
import { heads } from '../../../src/protocol/index.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import type { AppendRequest } from '../../../src/store/port/index.ts'
import {
  checkpointCounts,
  idOf,
  linesOf,
  numbered,
  numbersOf,
  range,
  requestOf,
  rules,
  textOf,
  unchanged,
} from './support.ts'

/** Appending to streams of this node. */
export const appending = rules(({ small, large }) => {
  small('a new store has no streams and no events', async (t, open) => {
    const store = await open(t)
    assert.deepEqual(await store.streams(), [])
    assert.equal(await textOf(store), '')
    assert.equal(await store.head(0), undefined)
    assert.equal(await store.chunk(0, 0), undefined)
    assert.deepEqual(await store.checkpoints(0), [])
  })

  small('lamport timestamps start at 0 and are consecutive within and across requests', async (t, open) => {
    const store = await open(t)
    const first = await store.append(requestOf(numbered(3)))
    const second = await store.append(requestOf(numbered(2, 3)))
    assert.deepEqual([first.lamport, second.lamport], [0, 3])
    assert.deepEqual(
      (await linesOf(store)).map(({ lamport }) => lamport),
      [0, 1, 2, 3, 4],
    )
  })

  small('a request for several streams gets contiguous offsets in each of them', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key })
    const to = (...streams: number[]) => store.append(requestOf(streams.map((stream) => ({ stream }))))
    assert.deepEqual((await to(7, 7, 2)).runs, [
      { stream: 7, offset: 0, count: 2 },
      { stream: 2, offset: 0, count: 1 },
    ])
    assert.deepEqual((await to(2, 7, 7, 2, 2)).runs, [
      { stream: 2, offset: 1, count: 1 },
      { stream: 7, offset: 2, count: 2 },
      { stream: 2, offset: 2, count: 2 },
    ])
    assert.deepEqual(
      (await linesOf(store)).map(({ stream, offset, lamport }) => [stream, offset, lamport]),
      [
        [7, 0],
        [7, 1],
        [2, 0],
        [2, 1],
        [7, 2],
        [7, 3],
        [2, 2],
        [2, 3],
      ].map(([stream = 0, offset], lamport) => [idOf(key, stream), offset, lamport]),
    )
    assert.deepEqual(
      (await store.streams()).map(({ number, key: { number: own }, count, pruned }) => [number, own, count, pruned]),
      [
        [0, 7, 4, 0],
        [1, 2, 4, 0],
      ],
    )
  })

  small('an event is read as it was published, with the timestamp of the response', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key })
    const payloads = ['{"x":1.0,"y":12345678901234567890}', '"\\u0041\\/ü\u2028😀"', '[]', '-0', 'null', '{"":""}']
    const tags = ['b "quoted"\\', 'a', 'é', '\u{1F600}', '\ufb33', '\u0001']
    const appId = 'com.example.ümlaut'
    const { time } = await store.append(requestOf(payloads.map((payload) => ({ appId, tags, payload }))))
    const sorted = [...tags].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    const expected = payloads.map(
      (payload, i) =>
        `{"type":"event","lamport":${i},"stream":"${idOf(key)}","offset":${i},"timestamp":${time}` +
        `,"tags":${JSON.stringify(sorted.map((tag) => tag.normalize('NFC')))},"appId":${JSON.stringify(appId)},"payload":${payload}}\n`,
    )
    assert.equal(await textOf(store), expected.join(''))
  })

  small('an invalid request is refused, and nothing of it is stored', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(5)))
    const broken = requestOf([...numbered(2, 5, 0), ...numbered(2, 7, 1), ...numbered(1, 9, 0)])
    // The last payload ends where it begins.
    broken.spans[19] = broken.spans[18] as number
    await unchanged(store, () => assert.rejects(store.append(broken)))
    const { lamport, runs } = await store.append(requestOf(numbered(1, 5)))
    assert.deepEqual(runs, [{ stream: 0, offset: 5, count: 1 }])
    assert.ok(lamport >= 5)
    assert.deepEqual(await numbersOf(store), range(0, 6))
  })

  small('an invalid request does not affect concurrent ones', async (t, open) => {
    const store = await open(t)
    const requests = range(0, 9).map((i) => requestOf(numbered(2, 2 * i)))
    const broken = requests[4] as AppendRequest
    broken.spans[7] = broken.spans[6] as number
    const responses = await Promise.allSettled(requests.map((request) => store.append(request)))
    assert.deepEqual(
      responses.flatMap(({ status }, i) => (status === 'rejected' ? [i] : [])),
      [4],
    )
    assert.deepEqual(await numbersOf(store), [...range(0, 8), ...range(10, 18)])
  })

  small('a request without events changes nothing', async (t, open) => {
    const store = await open(t)
    assert.deepEqual((await store.append(requestOf([]))).runs, [])
    assert.deepEqual(await store.streams(), [])
    assert.equal((await store.append(requestOf([{}]))).lamport, 0)
  })

  large('concurrent requests are stored, each as a whole, in the order of their responses', async (t, open) => {
    const store = await open(t)
    const sizes = Array.from({ length: 60 }, (_, i) => (i % 5 === 0 ? 200 : (i % 3) + 1))
    const starts = sizes.map((_, i) => sizes.slice(0, i).reduce((sum, size) => sum + size, 0))
    const responses = await Promise.all(sizes.map((size, i) => store.append(requestOf(numbered(size, starts[i])))))
    for (const [i, { lamport, runs }] of responses.entries()) {
      assert.equal(lamport, starts[i])
      assert.deepEqual(runs, [{ stream: 0, offset: starts[i], count: sizes[i] }])
    }
    assert.deepEqual(
      await numbersOf(store),
      range(
        0,
        sizes.reduce((sum, size) => sum + size),
      ),
    )
  })

  large('a checkpoint is at the end of the frame with which a chunk reaches 1024 events', async (t, open) => {
    const store = await open(t)
    let count = 0
    for (const size of [3000, 1, 70, 1000, 1023, 1, 1]) {
      await store.append(requestOf(numbered(size, count)))
      count += size
    }
    // Frames have 128 events, or fewer at the end of a request. After the first chunk 952 are left. 952 + 1 + 70 is
    // one less than a full chunk, so one more frame ends it. Of the next thousand, 872 are left.
    assert.deepEqual(await checkpointCounts(store), [1024, 2048, 3199, 4327])
    assert.deepEqual(await numbersOf(store), range(0, count))
  })

  large(
    'a checkpoint is at the end of the frame with which a chunk reaches 1 MiB, however few events it has',
    async (t, open) => {
      const store = await open(t)
      const large = (count: number, size: number) =>
        requestOf(Array.from({ length: count }, () => ({ payload: `"${'x'.repeat(size)}"` })))
      for (let i = 0; i < 4; i++) await store.append(large(1, 300_000))
      assert.deepEqual(await checkpointCounts(store), [4])
      await store.append(large(9, 300_000))
      assert.deepEqual(await checkpointCounts(store), [4, 8, 12])
      await store.append(large(1, 3_000_000))
      assert.deepEqual(await checkpointCounts(store), [4, 8, 12, 14])
      assert.equal((await linesOf(store)).length, 14)
    },
  )

  large('the head of a stream has its number of events and last lamport timestamp', async (t, open) => {
    const key = KeyPair.generate(systemRandom)
    const store = await open(t, { key, topic: 'the topic' })
    await store.append(requestOf([...numbered(2, 0, 4), ...numbered(1024, 0, 9), ...numbered(1, 2, 4)]))
    const [four, nine] = await Promise.all(
      [0, 1].map(async (number) => heads.verify((await store.head(number)) as Buffer)),
    )
    assert.equal(four?.topic, 'the topic')
    assert.deepEqual(Buffer.from(four.stream.node), Buffer.from(key.publicKey))
    assert.deepEqual([four.stream.number, four.count, four.lamport, four.checkpoint], [4, 3, 1026, false])
    assert.deepEqual([nine?.stream.number, nine?.count, nine?.lamport, nine?.checkpoint], [9, 1024, 1025, true])
  })

  small('an imported topic has events, but no heads and no chunks', async (t, open) => {
    const store = await open(t, { kind: 'imported' })
    await store.append(requestOf(numbered(2500)))
    await store.append(requestOf(numbered(10, 2500)))
    assert.deepEqual(await numbersOf(store), range(0, 2510))
    assert.equal(await store.head(0), undefined)
    assert.equal(await store.chunk(0, 0), undefined)
    assert.deepEqual(await store.checkpoints(0), [])
  })

  small('a closed store refuses all calls', async (t, open) => {
    const store = await open(t)
    await store.append(requestOf(numbered(1)))
    await store.close()
    await assert.rejects(store.append(requestOf(numbered(1))), /closed/)
    await assert.rejects(store.streams(), /closed/)
    await assert.rejects(textOf(store), /closed/)
    await store.close()
  })
})
