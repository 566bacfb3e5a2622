import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PublicKey } from '../../src/identity/index.ts'
import type { Hash } from '../../src/protocol/index.ts'
import type { Claim } from '../../src/sync/claim.ts'
import type { TableRow } from '../../src/sync/head-table.ts'
import { nextStep } from '../../src/sync/next-step.ts'

const key = { node: new Uint8Array(32) as PublicKey, number: 0 }
const [hash, other] = ['h'.repeat(32) as Hash, 'o'.repeat(32) as Hash]
const row: TableRow = { key, count: 10, pruned: 2, hash, records: hash, frozen: false, head: undefined }
const claim: Claim = {
  stream: key,
  isFrozen: false,
  count: 10,
  pruned: 2,
  hash,
  records: hash.slice(0, 8),
  head: undefined,
  askFrom: 0,
  areRecordsFetched: false,
  prefix: 'wanted',
}
const frozen = { isFrozen: true, count: 0, pruned: 0 } as const

const cases: [string, Partial<Claim>, Partial<TableRow> | undefined, ReturnType<typeof nextStep>][] = [
  ['the same', {}, {}, undefined],
  ['more events', { count: 12 }, {}, { want: 'events', from: 10 }],
  ['an unknown stream', { pruned: 0 }, undefined, { want: 'events', from: 0 }],
  ['an unknown stream that is pruned', {}, undefined, { want: 'records', from: 0, to: 0 }],
  ['more pruned, and more events', { count: 12, pruned: 5 }, {}, { want: 'records', from: 5, to: 10 }],
  ['pruned beyond the own events', { count: 30, pruned: 20 }, {}, { want: 'records', from: 10, to: 10 }],
  ['the same, but its prune record had no effect', { count: 30, pruned: 20, areRecordsFetched: true }, {}, undefined],
  ['less pruned', { pruned: 0 }, {}, undefined],
  ['fewer events: the peer asks', { count: 8, hash: other }, {}, undefined],
  ['another hash', { hash: other }, {}, { want: 'fork' }],
  ['other records', { records: 'otherrec' }, {}, { want: 'records', from: 2, to: 10 }],
  ['other records, which had no effect', { records: 'otherrec', areRecordsFetched: true }, {}, undefined],
  ['other records of a longer stream', { records: 'otherrec', count: 12 }, {}, { want: 'events', from: 10 }],
  ['records that are not known', { records: undefined }, {}, undefined],
  ['a fork: the events before it come first', frozen, {}, { want: 'events', from: 10 }],
  ['a fork of an unknown stream', frozen, undefined, { want: 'events', from: 0 }],
  ['a fork of a pruned stream', { ...frozen, prefix: 'pruned' }, undefined, { want: 'records', from: 0, to: 0 }],
  ['a fork, and no more events before it', { ...frozen, prefix: 'fetched' }, {}, { want: 'evidence' }],
  ['a fork that is known', frozen, { frozen: true }, undefined],
  ['more events of a forked stream', { count: 12 }, { frozen: true }, undefined],
]

for (const [name, said, here, expected] of cases)
  test(`a peer has ${name}`, () => {
    assert.deepEqual(nextStep({ ...claim, ...said }, here && { ...row, ...here }, 'other'), expected)
  })

test('of an own stream only more events and the evidence of a fork are asked for', () => {
  const asked = cases.flatMap(([name, said, here]) => {
    const step = nextStep({ ...claim, ...said }, here && { ...row, ...here }, 'own')
    return step === undefined ? [] : [[name, step.want]]
  })
  assert.deepEqual(asked, [
    ['more events', 'events'],
    ['an unknown stream', 'events'],
    ['more pruned, and more events', 'events'],
    ['other records of a longer stream', 'events'],
    ['a fork: the events before it come first', 'evidence'],
    ['a fork of an unknown stream', 'evidence'],
    ['a fork of a pruned stream', 'evidence'],
    ['a fork, and no more events before it', 'evidence'],
  ])
})

test('of an own stream events are asked for whatever was pruned elsewhere before the end of what is here', () => {
  const longer = { ...claim, count: 30 }
  assert.deepEqual(nextStep({ ...longer, pruned: 10 }, row, 'own'), { want: 'events', from: 10 })
  assert.equal(nextStep({ ...longer, pruned: 11 }, row, 'own'), undefined)
})

test('the node of a stream that has fewer events of it is compared: it never asks for them', () => {
  assert.deepEqual(nextStep({ ...claim, count: 8, hash: other }, row, 'theirs'), { want: 'fork' })
  assert.equal(
    nextStep({ ...claim, count: 2, hash: other }, row, 'theirs'),
    undefined,
    'what is pruned cannot be compared',
  )
})
