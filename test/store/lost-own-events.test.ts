import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { heads } from '../../src/protocol/index.ts'
import { compareOwnStream, doubtOf, OwnStreamsCheck } from '../../src/replication/index.ts'
import { nowMicros } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { MemoryEventStore } from '../../src/store/memory/memory-event-store.ts'
import type { EventStore } from '../../src/store/port/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'
import { SingleThreadStore } from '../support/single-thread-store.ts'
import { copyLog } from '../support/store-copies.ts'
import { linesOf, numbered, requestOf } from './acceptance/support.ts'

const key = KeyPair.generate(systemRandom)
const context = { topic: 'a-topic', kind: 'live', now: nowMicros, runtime: systemRuntime } as const

/** A node that can fall back to an earlier state of its store. */
interface Node {
  readonly store: EventStore
  save(): void
  /** Starts again with the state that was saved last, if there is one. */
  lose(): Promise<void>
}

class MemoryNode implements Node {
  store = new MemoryEventStore({ ...context, key })
  #saved: MemoryEventStore | undefined

  save(): void {
    this.#saved = this.store.copy({})
  }

  async lose(): Promise<void> {
    if (this.#saved !== undefined) this.store = this.#saved.copy({ isCleanStop: false })
  }
}

class DiskNode implements Node {
  store: SingleThreadStore
  readonly #folder: string
  #file: string
  #saved: string | undefined
  #copies = 0

  constructor(t: TestContext) {
    this.#folder = temporaryFolder(t)
    this.#file = this.#path()
    this.store = this.#open()
    t.after(() => this.store.close())
  }

  save(): void {
    this.#saved = this.#path()
    copyLog(this.#file, this.#saved)
  }

  async lose(): Promise<void> {
    if (this.#saved === undefined) return
    await this.store.close()
    this.#file = this.#path()
    copyLog(this.#saved, this.#file)
    this.store = this.#open()
  }

  #path(): string {
    return join(this.#folder, `${this.#copies++}.db`)
  }

  #open(): SingleThreadStore {
    return new SingleThreadStore({ ...context, file: this.#file, key, random: systemRandom })
  }
}

/** Sends everything to the peer. */
async function announce(store: EventStore, peer: EventStore): Promise<void> {
  for (const { number, key, count } of await store.heads())
    for (let from = (await peer.streamOf(key))?.count ?? 0; from < count; ) {
      const received = await peer.receive((await store.chunk(number, from)) as Uint8Array)
      assert.equal(received.state, 'stored')
      from = received.count
    }
}

/** Compares own streams with those of the peer, and adopts what it has more. */
async function check(store: EventStore, peer: EventStore): Promise<void> {
  const check = new OwnStreamsCheck(doubtOf(await store.startMarks()), 0)
  if (check.state.is === 'settled') return
  const theirs = (await peer.heads()).filter(({ key: { node } }) => Buffer.compare(node, key.publicKey) === 0)
  const compared = theirs.map(async ({ head: signed, key }) => {
    const head = signed as Uint8Array
    const { stream, count } = heads.verify(head)
    const stored = (await store.streamOf(key))?.count ?? 0
    return compareOwnStream({ stream: stream.number, count }, await store.contains(head), stored)
  })
  check.connected('peer', 0)
  check.compared('peer', await Promise.all(compared), 1)
  for (const { key, number } of theirs)
    while (check.wanted.has(key.number)) {
      const chunk = await peer.chunk(number, (await store.streamOf(key))?.count ?? 0)
      const received = await store.receive(chunk as Uint8Array)
      assert.equal(received.state, 'stored')
      check.adopted(key.number, received.count, 2)
    }
  assert.deepEqual([check.state.is, check.abandoned], ['settled', []])
  await store.settleOwnStreams()
}

const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ append: fc.nat(2), events: fc.constantFrom(1, 3, 600) }) },
    { weight: 2, arbitrary: fc.constant('announce' as const) },
    { weight: 1, arbitrary: fc.constant('save' as const) },
    { weight: 1, arbitrary: fc.constant('lose' as const) },
  ),
  { maxLength: 20 },
)

for (const [name, open] of [
  ['in memory', () => new MemoryNode()],
  ['on disk', (t: TestContext) => new DiskNode(t)],
] as const)
  test(`${name}: a node that loses events forks no stream, and gets back all that a peer has`, async (t) => {
    await fc.assert(
      fc.asyncProperty(steps, async (list) => {
        const [node, peer] = [open(t), new MemoryEventStore({ ...context, key: KeyPair.generate(systemRandom) })]
        // A copy from before the first announcement is not recognised.
        await node.store.markAnnounced()
        let next = 0
        for (const step of [...list, 'announce', 'lose', 'announce'] as const)
          if (step === 'announce') await announce(node.store, peer)
          else if (step === 'save') node.save()
          else if (step === 'lose') {
            await node.lose()
            await check(node.store, peer)
            const own = new Set((await linesOf(node.store)).map(({ text }) => text))
            for (const { text } of await linesOf(peer)) assert.ok(own.has(text), `lost: ${text}`)
          } else {
            await node.store.append(requestOf(numbered(step.events, next, step.append)))
            next += step.events
          }
        await node.store.close()
      }),
      { numRuns: 30 },
    )
  })
