import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { copyOfFact, type FactEvent, factPlace, WinningFacts } from '../../src/facts/index.ts'

interface Vectors {
  readonly events: readonly FactEvent[]
  readonly places: readonly { readonly lamport: number; readonly stream: string }[]
  readonly winners: readonly number[]
  /** By the index of an event: its copy. */
  readonly copies: Readonly<Record<string, Pick<FactEvent, 'tags' | 'payload'>>>
}

const page = readFileSync(new URL('../../docs/protocol.md', import.meta.url), 'utf8')
const section = page.slice(page.indexOf('### Test vectors of facts'))
const { events, places, winners, copies } = JSON.parse(/^```json\n([\s\S]*?)^```/m.exec(section)?.[1] ?? '') as Vectors

test('places, winners and copies of facts match the test vectors of the protocol', () => {
  assert.deepEqual(
    events.map((event) => factPlace(event).key),
    places,
  )
  for (const order of [events, events.toReversed()]) {
    const facts = new WinningFacts()
    for (const event of order) facts.add(event)
    const found = facts.inOrder().map(({ event }) => events.indexOf(event))
    assert.deepEqual(
      found.sort((a, b) => a - b),
      winners,
    )
  }
  assert.ok(Object.keys(copies).length > 0)
  for (const [index, copy] of Object.entries(copies))
    assert.deepEqual(copyOfFact(events[Number(index)] as FactEvent), copy)
})
