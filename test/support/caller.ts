import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { type DiskNotice, SqliteEventStore } from '../../src/store/index.ts'
import { verifyLog } from '../../src/store/sqlite/index.ts'
import { packed } from './events.ts'

const key = new KeyPair(Buffer.alloc(32, 5))

export function openLog(file: string, disk?: (notice: DiskNotice) => void): Promise<SqliteEventStore> {
  return SqliteEventStore.open({ runtime: systemRuntime, file, topic: 't', kind: 'live', key, ...(disk && { disk }) })
}

/** Incompressible text. */
function someText(): string {
  return randomBytes(150).toString('base64url')
}

/** A client that appends, and remembers what was acknowledged, by offset. */
export class Caller {
  readonly stored = new Map<number, string>()
  readonly refused: unknown[] = []
  readonly #store: SqliteEventStore

  constructor(store: SqliteEventStore) {
    this.#store = store
  }

  async append(count: number): Promise<boolean> {
    const payloads = Array.from({ length: count }, () => JSON.stringify(someText()))
    const events = payloads.map((payload) => ({ appId: 'a', tags: ['t'], payload }))
    try {
      const { runs } = await this.#store.append({ ...packed(events), streams: new Uint32Array(count) })
      for (const [i, payload] of payloads.entries()) this.stored.set((runs[0]?.offset ?? Number.NaN) + i, payload)
      return true
    } catch (error) {
      this.refused.push(error)
      return false
    }
  }
}

/** All stored payloads by offset, in the order of reading. */
export async function read(store: SqliteEventStore): Promise<Map<number, string>> {
  let lines = ''
  for await (const piece of store.read({ anyOf: [{ tags: ['t'] }], order: 'asc' })) lines += piece.toString()
  return new Map(
    lines
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { offset: number; payload: string })
      .map(({ offset, payload }) => [offset, JSON.stringify(payload)]),
  )
}

/** Asserts that exactly the acknowledged events are stored, without gaps in their offsets. */
export async function assertExactly(store: SqliteEventStore, stored: ReadonlyMap<number, string>): Promise<void> {
  const found = await read(store)
  assert.deepEqual(
    [...found.keys()],
    [...stored.keys()].sort((a, b) => a - b),
  )
  for (const [offset, payload] of stored) assert.equal(found.get(offset), payload, `offset ${offset}`)
}

export async function assertVerified(store: SqliteEventStore, file: string): Promise<void> {
  await store.close()
  assert.deepEqual(verifyLog(file).problems, [])
}

export async function appended(store: SqliteEventStore, count: number): Promise<Caller> {
  const caller = new Caller(store)
  assert.ok(await caller.append(count))
  return caller
}
