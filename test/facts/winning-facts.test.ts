import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOfFact, type FactEvent, factPlace, mappingTag, subjectOf } from '../../src/facts/index.ts'
import { compareEventKeys } from '../../src/replication/total-order.ts'
import * as fc from '../support/property.ts'
import { anyFactEvents, contentsOf, expectedContents, FactSwarm, nodes, steps, winnersOf } from './fact-swarm.ts'

const [node = '', other = '', third = ''] = nodes
const at = (lamport: number, stream: string, payload: unknown): FactEvent => ({
  lamport,
  stream,
  tags: ['ans'],
  payload,
})
const add = (cid: string) => ({ Add: { name: 'site', cid } })
const remove = { Remove: { name: 'site' } }
const copyAt = (lamport: number, stream: string, event: FactEvent) => ({ lamport, stream, ...copyOfFact(event) })

test('the last of the original facts wins, whatever was pruned and copied, in any order and however often', () => {
  const property = fc.property(steps, fc.infiniteStream(fc.nat()), (list, random) => {
    const swarm = new FactSwarm(list)
    const expected = expectedContents(swarm.originals)
    const shuffled = (events: readonly FactEvent[]) =>
      // Some are delivered twice.
      [...events, ...events.filter((_, i) => i % 3 === 0)]
        .map((event): [number, FactEvent] => [random.next().value as number, event])
        .sort(([a], [b]) => a - b)
        .map(([, event]) => event)
    assert.deepEqual(contentsOf(winnersOf(shuffled(swarm.published))), expected, 'a node that has seen everything')
    assert.deepEqual(contentsOf(winnersOf(shuffled(swarm.stored))), expected, 'a node that joins now')
  })
  fc.assert(property, { numRuns: 500 })
})

test('all orders of a few facts with copies and equal lamport timestamps have the same winner', () => {
  const bound = at(3, `${node}-0`, add('old'))
  const removed = at(5, `${other}-0`, remove)
  const events = [
    bound,
    at(5, `${node}-0`, add('loses')),
    removed,
    copyAt(9, `${node}-4`, bound),
    copyAt(10, `${node}-4`, bound),
    copyAt(11, `${third}-4`, removed),
  ]
  let count = 0
  for (const order of permutations(events)) {
    count++
    const [winner, ...rest] = winnersOf(order).inOrder()
    assert.deepEqual([winner?.event, rest], [events[5], []])
  }
  assert.equal(count, 720)
})

test('facts with any claims have the same winners in any order, and no claim makes a fact newer than its event', () => {
  const shuffled = anyFactEvents.chain((events) =>
    fc.tuple(fc.constant(events), fc.shuffledSubarray(events, { minLength: events.length })),
  )
  fc.assert(
    fc.property(shuffled, ([events, others]) => {
      assert.deepEqual(winnersOf(events).inOrder(), winnersOf(others).inOrder())
      for (const event of events) {
        const { key, copy } = factPlace(event)
        assert.ok(compareEventKeys(key, event) <= 0)
        if (copy !== undefined) assert.equal(compareEventKeys(copy, event), 0)
      }
    }),
    { numRuns: 500 },
  )
})

test('a removed name does not come back by a late copy, and a copied removal wins over older bindings only', () => {
  const [bound, removed] = [at(1, `${node}-0`, add('one')), at(2, `${other}-0`, remove)]
  const late = copyAt(7, `${node}-4`, bound)
  assert.deepEqual(contentsOf(winnersOf([removed, late])), { '["name","site"]': remove })
  const again = at(4, `${node}-0`, add('two'))
  assert.deepEqual(contentsOf(winnersOf([again, copyAt(9, `${other}-4`, removed)])), { '["name","site"]': add('two') })
})

test('of facts with the same key the last copy wins, so that nodes agree after the original is pruned', () => {
  // Two branches of a forked stream have different facts at the same place.
  const branches = [at(3, `${node}-0`, add('here')), at(3, `${node}-0`, add('there'))] as const
  const copy = copyAt(8, `${node}-5`, branches[0])
  for (const known of [[], [branches[0]], [branches[1]]])
    assert.deepEqual(contentsOf(winnersOf([...known, copy])), { '["name","site"]': add('here') })
})

test('the copy of a fact has the place of its original, unless the claim is malformed or not older', () => {
  const stream = `${node}-4`
  const place = (copyOf: unknown) => factPlace({ lamport: 9, stream, payload: { copyOf } })
  const own = { lamport: 9, stream }
  for (const original of [
    { lamport: 3, stream: `${node}-0` },
    { lamport: 0, stream: `${other}-18446744073709551615` },
    { lamport: 9, stream: `${node}-3` },
  ])
    assert.deepEqual(place(original), { key: original, copy: own })
  for (const claim of [
    undefined,
    null,
    7,
    [],
    {},
    { lamport: 3 },
    { stream: `${node}-0` },
    { lamport: 9, stream },
    { lamport: 9, stream: `${other}-0` },
    { lamport: 10, stream: `${node}-0` },
    { lamport: -1, stream: `${node}-0` },
    { lamport: 1.5, stream: `${node}-0` },
    { lamport: '3', stream: `${node}-0` },
    { lamport: 3, stream: node },
    { lamport: 3, stream: `${node}-x` },
    { lamport: 3, stream: `${node}-0-0` },
    { lamport: 3, stream: `${'?'.repeat(43)}-0` },
    { lamport: 3, stream: 0 },
  ])
    assert.deepEqual(place(claim), { key: own })
  for (const payload of ['text', null, [{ copyOf: { lamport: 3, stream } }]])
    assert.deepEqual(factPlace({ lamport: 9, stream, payload }), { key: own })
})

test('the copy of a copy claims the place of the original', () => {
  const original = at(1, `${node}-0`, { ...remove, more: [1] })
  const copy = copyAt(5, `${node}-4`, original)
  assert.deepEqual(copyOfFact(copyAt(8, `${node}-5`, copy)), {
    tags: ['ans'],
    payload: { ...remove, more: [1], copyOf: { lamport: 1, stream: `${node}-0` } },
  })
})

test('a fact is about a name, an upload, or a number of a stream name; other events have none', () => {
  const subject = (tags: string[], payload: unknown) => subjectOf({ lamport: 4, stream: `${node}-0`, tags, payload })
  assert.equal(subject(['ans'], add('x')), subject(['ans'], remove))
  assert.equal(
    subject(['files', 'files:created'], { type: 'fileAdded', cid: 'c' }),
    subject(['files', 'files:removed'], { type: 'removed', cid: 'c' }),
  )
  const streams = [1, 2].map((streamNr) => subject([mappingTag], { streamName: 'default', streamNr }))
  assert.deepEqual(
    streams,
    [1, 2].map((number) => JSON.stringify(['stream', node, 'default', number])),
  )
  const foreign = { streamName: 'default', streamNr: 1, copyOf: { lamport: 1, stream: `${other}-0` } }
  assert.equal(subject([mappingTag], foreign), undefined)
  const later = JSON.stringify(['event', 4, `${node}-0`])
  for (const payload of [{}, { Add: { name: 7 } }, { Add: 'site' }, { streamName: 'a', streamNr: 1 }])
    assert.equal(subject(['ans'], payload), later)
  for (const payload of [{ streamName: 'a', streamNr: -1 }, { streamName: 1, streamNr: 1 }, { streamName: 'a' }])
    assert.equal(subject([mappingTag], payload), later)
  const copied = { copyOf: { lamport: 2, stream: `${node}-0` } }
  assert.equal(subject(['ans'], copied), JSON.stringify(['event', 2, `${node}-0`]))
  for (const payload of [null, 'text', [1]]) assert.equal(subject(['ans'], payload), undefined)
  assert.equal(subject(['files', 'files:pinned'], { PinAdded: {} }), undefined)
  assert.equal(subject(['other'], add('x')), undefined)
})

function* permutations<T>(list: readonly T[]): Generator<T[]> {
  if (list.length === 0) yield []
  for (const [i, first] of list.entries()) for (const rest of permutations(list.toSpliced(i, 1))) yield [first, ...rest]
}
