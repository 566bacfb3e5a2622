import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { ShoalError } from '../../src/errors.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { DamagedData, verifyLog } from '../../src/store/log/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import { BreakingDisk, SmallDisk } from './damage/small-disk.ts'

const key = new KeyPair(Buffer.alloc(32, 5))

function open(file: string): Promise<SqliteEventStore> {
  return SqliteEventStore.open({ file, topic: 't', kind: 'live', key })
}

/** Text that takes room: it cannot be compressed. */
function text(length: number): string {
  return randomBytes(Math.ceil((length * 3) / 4)).toString('base64url')
}

/** Somebody who appends and remembers what was answered: by the offset, what is stored there. */
class Caller {
  readonly stored = new Map<number, string>()
  readonly refused: unknown[] = []
  readonly #store: SqliteEventStore

  constructor(store: SqliteEventStore) {
    this.#store = store
  }

  async append(count: number, length = 200): Promise<boolean> {
    const payloads = Array.from({ length: count }, () => JSON.stringify(text(length)))
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

/** By offset what can be read, in the order in which it is read. */
async function read(store: SqliteEventStore): Promise<Map<number, string>> {
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

/** All that was acknowledged is there, nothing else is, and offsets have no gaps. */
async function assertExactly(store: SqliteEventStore, stored: ReadonlyMap<number, string>): Promise<void> {
  const found = await read(store)
  assert.deepEqual(
    [...found.keys()],
    [...stored.keys()].sort((a, b) => a - b),
  )
  for (const [offset, payload] of stored) assert.equal(found.get(offset), payload, `offset ${offset}`)
}

function saysFull(error: unknown): boolean {
  return error instanceof ShoalError && error.code === 'ERR_STORAGE' && /no room left on the disk/.test(error.message)
}

async function assertVerified(store: SqliteEventStore, file: string): Promise<void> {
  await store.close()
  assert.deepEqual(verifyLog(file).problems, [])
}

test('on a full disk appends are refused and say why, reads go on; with room again appends go on', async (t) => {
  const disk = SmallDisk.mount(t, '4m')
  if (disk === undefined) return
  const file = disk.file('log.db')
  const store = await open(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  for (let round = 0; round < 3; round++) {
    const refusedBefore = caller.refused.length
    // Many at once, small and large, until nobody gets anything in any more.
    for (let accepted = true; accepted; ) {
      const answers = await Promise.all([1, 3, 1, 40, 1].map((count) => caller.append(count)))
      accepted = answers.some((answer) => answer)
      if (round > 0) disk.fill()
    }
    assert.ok(caller.refused.length > refusedBefore)
    assert.deepEqual(
      caller.refused.filter((error) => !saysFull(error)),
      [],
    )
    await assertExactly(store, caller.stored)
    disk.makeRoom()
    if (round === 0) disk.remount('size=12m')
    assert.ok(await caller.append(5), 'with room again it goes on')
    await assertExactly(store, caller.stored)
  }
  await assertVerified(store, file)
})

test('what is to be sealed on a full disk stays as it is, and is sealed when there is room', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  if (disk === undefined) return
  const file = disk.file('log.db')
  const store = await open(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  for (let i = 0; i < 6; i++) assert.ok(await caller.append(1000))
  disk.fill()
  await assert.rejects(store.settle(), saysFull)
  await assertExactly(store, caller.stored)
  assert.equal(await caller.append(100), false)
  await assertExactly(store, caller.stored)
  disk.makeRoom()
  await store.settle()
  assert.ok(await caller.append(10))
  await assertExactly(store, caller.stored)
  await store.close()
  const { problems, segments } = verifyLog(file)
  assert.deepEqual([problems, segments], [[], 4])
})

test('removing on a full disk is refused as a whole, and done when there is room', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  if (disk === undefined) return
  const file = disk.file('log.db')
  const store = await open(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  for (let i = 0; i < 4; i++) assert.ok(await caller.append(1000))
  await store.settle()
  const [{ count = 0 } = {}] = await store.checkpoints(0)
  disk.fill()
  await assert.rejects(store.prune(0, count), saysFull)
  for (const offset of [1500, 3999]) await assert.rejects(store.redact(0, offset), saysFull)
  await assertExactly(store, caller.stored)
  disk.makeRoom()
  await store.prune(0, count)
  for (const offset of [1500, 3999]) await store.redact(0, offset)
  for (const offset of caller.stored.keys())
    if (offset < count || offset === 1500 || offset === 3999) caller.stored.delete(offset)
  await assertExactly(store, caller.stored)
  await assertVerified(store, file)
})

test('a store that cannot be made on a full disk is made when there is room', async (t) => {
  const disk = SmallDisk.mount(t, '4m')
  if (disk === undefined) return
  const file = disk.file('log.db')
  disk.fill()
  const refusal = {
    name: 'ShoalError',
    code: 'ERR_IO',
    message: /log\.db` cannot be opened: there is no room left on the disk/,
  }
  await assert.rejects(open(file), refusal)
  await assert.rejects(open(file), refusal)
  disk.makeRoom()
  const store = await open(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  assert.ok(await caller.append(10))
  await assertExactly(store, caller.stored)
  await assertVerified(store, file)
})

test('a store on a full disk is opened and read', async (t) => {
  const disk = SmallDisk.mount(t, '8m')
  if (disk === undefined) return
  const file = disk.file('log.db')
  const before = await open(file)
  const { stored } = await appended(before, 2000)
  await before.close()
  // As much as the connections need to know of each other, and no more.
  disk.fill()
  disk.remount('size=8256k')
  const store = await open(file)
  t.after(() => store.close())
  await assertExactly(store, stored)
  disk.fill()
  const caller = new Caller(store)
  assert.equal(await caller.append(100), false)
  await assertExactly(store, stored)
  disk.makeRoom()
  assert.ok(await caller.append(100))
  await assertExactly(store, new Map([...stored, ...caller.stored]))
  await assertVerified(store, file)
})

async function appended(store: SqliteEventStore, count: number): Promise<Caller> {
  const caller = new Caller(store)
  assert.ok(await caller.append(count))
  return caller
}

test('a store on a file system that is read only is refused, and opened when it can be written', async (t) => {
  const disk = SmallDisk.mount(t, '8m')
  if (disk === undefined) return
  const file = disk.file('log.db')
  const before = await open(file)
  const { stored } = await appended(before, 100)
  await before.close()
  disk.remount('ro')
  await assert.rejects(open(file), { name: 'ShoalError', code: 'ERR_IO', message: /cannot be opened/ })
  await assert.rejects(open(disk.file('new.db')), { name: 'ShoalError', code: 'ERR_IO', message: /cannot be opened/ })
  disk.remount('rw')
  const store = await open(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  assert.ok(await caller.append(10))
  await assertExactly(store, new Map([...stored, ...caller.stored]))
  await assertVerified(store, file)
})

test('on a disk that breaks appends are refused, reads go on; when it is mended appends go on', async (t) => {
  const disk = BreakingDisk.mount(t, '6m', '32m')
  if (disk === undefined) return
  const file = disk.file('log.db')
  const store = await open(file)
  t.after(() => store.close())
  const caller = await appended(store, 1000)
  for (let round = 0; round < 2; round++) {
    disk.break()
    while (await caller.append(100));
    await assertExactly(store, caller.stored)
    disk.mend()
    assert.ok(await caller.append(20), String(caller.refused.at(-1)))
    await assertExactly(store, caller.stored)
  }
  assert.deepEqual(
    caller.refused.filter((error) => !(error instanceof ShoalError && error.code === 'ERR_STORAGE')),
    [],
  )
  await assertVerified(store, file)
})

test('a file that is cut short under a store is told, and read again once it is whole', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'log.db')
  const before = await open(file)
  const { stored } = await appended(before, 5000)
  await before.settle()
  await before.close()
  const store = await open(file)
  t.after(() => store.close())
  // By other processes: one that closes a file of a database gives up the locks that it has on it.
  execFileSync('cp', [file, join(folder, 'whole')])
  execFileSync('truncate', ['-s', '40960', file])
  await assert.rejects(read(store), DamagedData)
  execFileSync('dd', [`if=${join(folder, 'whole')}`, `of=${file}`, 'conv=notrunc'], { stdio: 'ignore' })
  await assertExactly(store, stored)
  const caller = await appended(store, 10)
  await assertExactly(store, new Map([...stored, ...caller.stored]))
  await assertVerified(store, file)
})
