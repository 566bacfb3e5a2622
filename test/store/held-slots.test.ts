import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { Slots } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

function opened(t: TestContext, name: string): { slots: Slots; use: (used: Iterable<number>) => void } {
  const database = new DatabaseSync(':memory:')
  database.exec('CREATE TABLE block (slot INTEGER)')
  const slots = new Slots(join(temporaryFolder(t), name), database, noSync)
  t.after(async () => {
    await slots.close()
    database.close()
  })
  const insert = database.prepare('INSERT INTO block VALUES (?)')
  const use = (used: Iterable<number>): void => {
    database.exec('DELETE FROM block')
    for (const slot of used) insert.run(slot)
  }
  return { slots, use }
}

const noSync = { data: () => {}, dataLater: (_: number, done: (error: null) => void) => done(null), folder: () => {} }
const bytes = (value: number): Uint8Array => new Uint8Array(8).fill(value)

test('freed slots are used again, unless they are held', (t) => {
  const { slots, use } = opened(t, 'slots')
  assert.deepEqual([slots.write(bytes(1)), slots.write(bytes(2)), slots.write(bytes(3))], [0, 1, 2])
  slots.hold()
  slots.free(0)
  slots.free(2)
  slots.releaseFreed()
  assert.equal(slots.firstFree, undefined)
  slots.truncate()
  assert.equal(slots.write(bytes(4)), 3)
  // After a rollback.
  use([1])
  slots.reload()
  assert.equal(slots.write(bytes(5)), 3)
  assert.deepEqual([slots.read(0, 8), slots.read(2, 8)], [bytes(1), bytes(3)])
  assert.equal(slots.release(), true)
  assert.equal(slots.release(), false)
  assert.equal(slots.write(bytes(6)), 0)
})

test('whatever happens while slots are held, their content stays', (t) => {
  const step = fc.record({ act: fc.constantFrom('write', 'free', 'roll back', 'truncate'), at: fc.nat(20) })
  let run = 0
  const holds = fc.property(fc.array(step, { maxLength: 30 }), fc.array(step, { maxLength: 30 }), (before, during) => {
    const { slots, use } = opened(t, `slots ${run++}`)
    const used = new Map<number, number>()
    let written = 0
    const apply = ({ act, at }: { act: string; at: number }): void => {
      const [slot] = [...used.keys()].slice(at % Math.max(1, used.size))
      if (act === 'write') {
        const to = slots.write(bytes(++written))
        used.set(to, written)
      } else if (act === 'free' && slot !== undefined) {
        used.delete(slot)
        slots.free(slot)
        slots.releaseFreed()
      } else if (act === 'roll back') {
        use([...used.keys()].sort((a, b) => a - b))
        slots.reload()
      } else if (act === 'truncate') slots.truncate()
    }
    before.forEach(apply)
    slots.hold()
    const snapshot = [...used]
    during.forEach(apply)
    for (const [slot, value] of snapshot) assert.deepEqual(slots.read(slot, 8), bytes(value))
    assert.equal(slots.release(), true)
    for (const [slot, value] of used) assert.deepEqual(slots.read(slot, 8), bytes(value))
  })
  fc.assert(holds)
})
