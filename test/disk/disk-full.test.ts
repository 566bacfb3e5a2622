import assert from 'node:assert/strict'
import { copyFileSync } from 'node:fs'
import { test } from 'node:test'
import { ShoalError } from '../../src/base/errors.ts'
import { format } from '../../src/base/format.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { DiskNotice } from '../../src/store/index.ts'
import { LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { formatOf } from '../../src/store/sqlite/sqlite-header.ts'
import { contentsOf, keptStore } from '../store/fixtures/contents.ts'
import { appended, assertExactly, assertVerified, Caller, openLog } from '../support/caller.ts'
import { packed } from '../support/events.ts'
import { BreakingDisk, SmallDisk } from './disks.ts'

// Requires Linux and the privilege to mount file systems. Fails without them instead of being skipped.

function saysFull(error: unknown): boolean {
  return error instanceof ShoalError && error.code === 'ERR_STORAGE' && /no room left on the disk/.test(error.message)
}

test('on a full disk appends are refused with the reason and reads work; appends work again once there is space', async (t) => {
  const disk = SmallDisk.mount(t, '4m')
  const file = disk.file('log.db')
  const store = await openLog(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  for (let round = 0; round < 3; round++) {
    const refusedBefore = caller.refused.length
    // Concurrent small and large appends, until none is accepted.
    for (let accepted = true; accepted; ) {
      const responses = await Promise.all([1, 3, 1, 40, 1].map((count) => caller.append(count)))
      accepted = responses.some((response) => response)
      if (round > 0) disk.fill()
    }
    assert.ok(caller.refused.length > refusedBefore)
    assert.deepEqual(
      caller.refused.filter((error) => !saysFull(error)),
      [],
    )
    await assertExactly(store, caller.stored)
    disk.makeSpace()
    if (round === 0) disk.remount('size=12m')
    assert.ok(await caller.append(5), 'appends work again once there is space')
    await assertExactly(store, caller.stored)
  }
  await assertVerified(store, file)
})

test('sealing fails on a full disk without changing anything, and succeeds once there is space', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  const file = disk.file('log.db')
  const store = await openLog(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  for (let i = 0; i < 6; i++) assert.ok(await caller.append(1000))
  disk.fill()
  await assert.rejects(store.settle(), saysFull)
  await assertExactly(store, caller.stored)
  assert.equal(await caller.append(100), false)
  await assertExactly(store, caller.stored)
  disk.makeSpace()
  await store.settle()
  assert.ok(await caller.append(10))
  await assertExactly(store, caller.stored)
  await store.close()
  const { problems, segments } = verifyLog(file)
  assert.deepEqual([problems, segments], [[], 5])
})

test('prune and redact on a full disk are refused as a whole and reported, and succeed once there is space', async (t) => {
  const disk = SmallDisk.mount(t, '16m')
  const file = disk.file('log.db')
  const notices: DiskNotice[] = []
  const store = await openLog(file, (notice) => notices.push(notice))
  t.after(() => store.close())
  const caller = new Caller(store)
  for (let i = 0; i < 4; i++) assert.ok(await caller.append(1000))
  await store.settle()
  const [{ count = 0 } = {}] = await store.checkpoints(0)
  disk.fill()
  await assert.rejects(store.prune(0, count), saysFull)
  for (const offset of [1500, 3999]) await assert.rejects(store.redact(0, [offset]), saysFull)
  await assertExactly(store, caller.stored)
  const refused = 'there is no room left on the disk'
  const reported = notices.splice(0).filter(({ work }) => work === 'prune' || work === 'redact')
  assert.deepEqual(
    reported,
    ['prune', 'redact', 'redact'].map((work) => ({ work, refused })),
  )
  disk.makeSpace()
  await store.prune(0, count)
  for (const offset of [1500, 3999]) await store.redact(0, [offset])
  const works = notices.filter(({ refused }) => refused === undefined).map(({ work }) => work)
  assert.ok(works.includes('prune') && works.includes('redact'), 'the recovery is reported')
  for (const offset of caller.stored.keys())
    if (offset < count || offset === 1500 || offset === 3999) caller.stored.delete(offset)
  await assertExactly(store, caller.stored)
  await assertVerified(store, file)
})

test('a store that cannot be created on a full disk is created once there is space', async (t) => {
  const disk = SmallDisk.mount(t, '4m')
  const file = disk.file('log.db')
  disk.fill()
  const refusal = {
    name: 'ShoalError',
    code: 'ERR_IO',
    message: /log\.db` cannot be opened: there is no room left on the disk/,
  }
  await assert.rejects(openLog(file), refusal)
  await assert.rejects(openLog(file), refusal)
  disk.makeSpace()
  const store = await openLog(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  assert.ok(await caller.append(10))
  await assertExactly(store, caller.stored)
  await assertVerified(store, file)
})

test('a store on a full disk can be opened and read', async (t) => {
  const disk = SmallDisk.mount(t, '8m')
  const file = disk.file('log.db')
  const before = await openLog(file)
  const { stored } = await appended(before, 2000)
  await before.close()
  // Just enough space for the shared memory of the connections.
  disk.fill()
  disk.remount('size=8256k')
  const store = await openLog(file)
  t.after(() => store.close())
  await assertExactly(store, stored)
  disk.fill()
  const caller = new Caller(store)
  assert.equal(await caller.append(100), false)
  await assertExactly(store, stored)
  disk.makeSpace()
  assert.ok(await caller.append(100))
  await assertExactly(store, new Map([...stored, ...caller.stored]))
  await assertVerified(store, file)
})

test('a store of an earlier version is opened and read on a full disk, and migrated by the first write with space', (t) => {
  const disk = SmallDisk.mount(t, '8m')
  const file = disk.file('log.db')
  const { file: kept, key, contents } = keptStore('v1')
  copyFileSync(kept, file)
  disk.fill()
  disk.remount('size=8256k')
  assert.ok(contentsOf(file, 'fixture', key) === contents, 'the contents are unchanged')
  const writer = new LogWriter({ file, topic: 'fixture', kind: 'live', key, now: () => 1, random: systemRandom })
  t.after(() => writer.close())
  disk.fill()
  const request = { ...packed([{ appId: 'a', tags: [], payload: '1' }]), streams: Uint32Array.of(0) }
  assert.throws(() => writer.append([request]), saysFull)
  assert.equal(formatOf(file)?.userVersion, 1)
  disk.makeSpace()
  writer.append([request])
  assert.equal(formatOf(file)?.userVersion, format.logFormatVersion)
  assert.deepEqual(verifyLog(file).problems, [])
})

test('a store on a read-only file system is refused, and opened once the file system is writable', async (t) => {
  const disk = SmallDisk.mount(t, '8m')
  const file = disk.file('log.db')
  const before = await openLog(file)
  const { stored } = await appended(before, 100)
  await before.close()
  disk.remount('ro')
  await assert.rejects(openLog(file), { name: 'ShoalError', code: 'ERR_IO', message: /cannot be opened/ })
  await assert.rejects(openLog(disk.file('new.db')), {
    name: 'ShoalError',
    code: 'ERR_IO',
    message: /cannot be opened/,
  })
  disk.remount('rw')
  const store = await openLog(file)
  t.after(() => store.close())
  const caller = new Caller(store)
  assert.ok(await caller.append(10))
  await assertExactly(store, new Map([...stored, ...caller.stored]))
  await assertVerified(store, file)
})

test('on a failing disk appends are refused and reads work; appends work again once the disk is repaired', async (t) => {
  const disk = BreakingDisk.mount(t, '6m', '32m')
  const file = disk.file('log.db')
  const store = await openLog(file)
  t.after(() => store.close())
  const caller = await appended(store, 1000)
  for (let round = 0; round < 2; round++) {
    disk.break()
    while (await caller.append(100));
    await assertExactly(store, caller.stored)
    disk.repair()
    assert.ok(await caller.append(20), String(caller.refused.at(-1)))
    await assertExactly(store, caller.stored)
  }
  assert.deepEqual(
    caller.refused.filter((error) => !(error instanceof ShoalError && error.code === 'ERR_STORAGE')),
    [],
  )
  await assertVerified(store, file)
})
