import assert from 'node:assert/strict'
import { limits } from '../../../src/base/limits.ts'
import { encodeChunk } from '../../../src/protocol/index.ts'
import type { AppendedFrames, EventStore } from '../../../src/store/port/index.ts'
import { noise } from '../../support/noise.ts'
import { until } from '../../support/process.ts'
import { memoryStore } from './sources.ts'
import { hex, numbered, replicate, requestOf, rules, textOf } from './support.ts'

/** The announcements of a store, which may arrive after the append is acknowledged. */
class Announced {
  readonly pieces: AppendedFrames[] = []
  readonly stop: () => void

  constructor(store: EventStore) {
    this.stop = store.onAppended((appended) => void this.pieces.push(...appended))
  }

  /** Waits until a number of events of a stream is announced. */
  async upTo(count: number, number = 0): Promise<AppendedFrames[]> {
    const isAnnounced = () => this.pieces.some(({ stream, count: end }) => stream.number === number && end >= count)
    await until(
      () => isAnnounced() || undefined,
      () => `${count} events are not among ${this.pieces.map(({ count }) => count).join()}`,
    )
    return this.pieces
  }
}

/** Commit notices with frames, for replication. */
export const announcing = rules(({ small, large }) => {
  large('a replica that only gets the announced frames and heads has all events and checkpoints', async (t, open) => {
    const [store, replica] = [await open(t), memoryStore()]
    await store.append(requestOf(numbered(7)))
    await replicate(store, replica)
    const announced = new Announced(store)
    for (const size of [1, 600, 3000, 1, 150])
      await store.append(requestOf([...numbered(size, 7), ...numbered(size, 0, 1)]))
    await announced.upTo(3759, 0)
    for (const { stream, first, before, records, count, head } of await announced.upTo(3752, 1)) {
      const { number } = (await store.streamOf(stream)) ?? assert.fail()
      assert.deepEqual([await store.hashAt(number, first), await store.contains(head)], [before, 'contained'])
      const received = await replica.receive(encodeChunk(records as Uint8Array[], head))
      assert.deepEqual(received, { state: 'stored', count })
    }
    assert.equal(await textOf(replica), await textOf(store))
    for (const { number } of await store.streams())
      assert.deepEqual(
        (await replica.checkpoints(number)).map(({ head }) => hex(head)),
        (await store.checkpoints(number)).map(({ head }) => hex(head)),
      )
    const all = await store.checkpoints(0)
    assert.ok(all.length > 2)
    const [second, last] = [all[1]?.count ?? 0, all.at(-1)?.count ?? 0]
    assert.deepEqual(await store.checkpointsAfter(0, second - 1, 1), [all[1]])
    assert.deepEqual(await store.checkpointsAfter(0, second, 100), all.slice(2))
    assert.deepEqual([await store.checkpointsAfter(0, last, 1), await store.checkpointsAfter(9, 0, 1)], [[], []])
    // The newest head was signed once.
    assert.equal(hex(await store.head(0)), hex(await replica.head(0)))
  })

  large('a commit with too many bytes is announced by its head, and the next one has frames again', async (t, open) => {
    const [store, replica] = [await open(t), memoryStore()]
    const announced = new Announced(store)
    const payload = JSON.stringify(noise(limits.unreadFrameBytes / 8).toString('hex'))
    await store.append(requestOf(Array.from({ length: 5 }, () => ({ payload }))))
    const large = (await announced.upTo(5)).at(-1)
    assert.deepEqual([large?.count, large?.records === undefined], [5, true])
    assert.equal(await store.contains(large?.head as Uint8Array), 'contained')
    await replicate(store, replica)
    await store.append(requestOf([{ payload: '1' }]))
    const small = (await announced.upTo(6)).at(-1)
    await replica.receive(encodeChunk(small?.records as Uint8Array[], small?.head as Uint8Array))
    assert.equal(await textOf(replica), await textOf(store))
  })

  small('only new events of own streams are announced, until the listener is removed', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await store.append(requestOf(numbered(2)))
    await source.append(requestOf(numbered(3)))
    const [one, two] = [new Announced(store), new Announced(store)]
    await replicate(source, store)
    await store.append(requestOf(numbered(1, 2)))
    assert.deepEqual(
      (await one.upTo(3)).map(({ first, count, records }) => [first, count, records?.length]),
      [[2, 3, 1]],
    )
    assert.equal((await two.upTo(3)).length, 1)
    one.stop()
    await store.append(requestOf(numbered(1, 3)))
    await two.upTo(4)
    two.stop()
    await store.append(requestOf(numbered(1, 4)))
    const again = new Announced(store)
    await store.append(requestOf(numbered(1, 5)))
    assert.deepEqual(
      (await again.upTo(6)).map(({ first }) => first),
      [5],
    )
    assert.deepEqual([one.pieces.length, two.pieces.length], [1, 2])
  })

  small('imported events are not announced', async (t, open) => {
    const [store, other] = [await open(t, { kind: 'imported' }), await open(t)]
    const [announced, live] = [new Announced(store), new Announced(other)]
    await store.append(requestOf(numbered(3)))
    await other.append(requestOf(numbered(3)))
    await live.upTo(3)
    // The call after the append gets its result after an announcement would have been posted.
    await store.heads()
    assert.deepEqual(announced.pieces, [])
  })
})
