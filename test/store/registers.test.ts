import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { compareFacts, type FactPlace, placeOfFact } from '../../src/replication/index.ts'
import { verifyBlocks } from '../../src/store/blocks/index.ts'
import { openBlocks, Registers } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

test('registers agree with the order of facts, with copies in any order of arrival', (t) => {
  const key = fc.record({
    lamport: fc.nat({ max: 3 }),
    stream: fc.constantFrom('A', 'B').map((node) => `${node.repeat(43)}-0`),
  })
  const place = fc
    .record({ key, copy: fc.option(key, { nil: undefined }) })
    .map(({ key: claimed, copy }) => (copy === undefined ? { key: claimed } : placeOfFact(copy, claimed)))
  const id = (of: FactPlace) => JSON.stringify([of.key, of.copy ?? null])
  const places = fc.uniqueArray(place, { selector: id, minLength: 1 })
  const database = openBlocks(join(temporaryFolder(t), 'blocks.db'))
  t.after(() => database.close())
  const registers = new Registers(database)
  let count = 0
  fc.assert(
    fc.property(places, (list) => {
      const name = `name ${count++}`
      for (const of of [...list, ...list]) registers.set('name', name, of, id(of))
      assert.equal(registers.get('name', name), id(list.toSorted(compareFacts).at(-1) as FactPlace))
      assert.equal(registers.all('name').filter(([of]) => of === name).length, 1)
    }),
    { numRuns: 100 },
  )
  registers.check()
})

test('verify expects the blocks of own uploads, but not of an upload for which another node claims an own key', (t) => {
  const file = join(temporaryFolder(t), 'blocks.db')
  const [node, other] = ['A', 'B'].map((letter) => letter.repeat(43)) as [string, string]
  const cid = 'bafybeiauqcttc3r6btrkpsemuf3rr5rd6polk2k4uqrf5hiku5cutp3dl4'
  const key = { lamport: 1, stream: `${node}-3` }
  for (const [place, problems] of [
    [{ key: { lamport: 0, stream: `${other}-3` } }, 0],
    [{ key }, 1],
    [{ key, copy: { lamport: 5, stream: `${node}-4` } }, 1],
    [{ key, copy: { lamport: 7, stream: `${other}-4` } }, 0],
  ] as const) {
    const database = openBlocks(file)
    assert.equal(new Registers(database).set('upload', cid, place, ''), true)
    database.close()
    assert.equal(verifyBlocks(file, node).problems.length, problems)
  }
})
