import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { AqlEvent } from '../../../src/aql/values/event.ts'
import { nodeIdBytes } from '../../../src/aql/values/node-id.ts'
import { type Message, stream } from './run.ts'

/** A case of cases.json; its fields depend on its kind. */
export interface Case {
  readonly name: string
  readonly kind: string
  readonly query: string
  readonly deviation?: string
  readonly [field: string]: unknown
}

const file: unknown = JSON.parse(readFileSync(new URL('../cases.json', import.meta.url), 'utf8'))

export function casesOf<Fields>(kind: string): readonly (Case & Fields)[] {
  const found = (file as readonly (Case & Fields)[]).filter((test) => test.kind === kind)
  assert.notEqual(found.length, 0, `there are cases of kind ${kind}`)
  return found
}

export interface Expected extends Message {
  readonly meta?: 'synthetic' | { readonly event: number } | { readonly range: readonly [number, number] }
}

/** Asserts that messages match the fields that a case specifies. */
export function assertMessages(actual: readonly Message[], expected: readonly Expected[], events: readonly AqlEvent[]) {
  assert.deepEqual(
    actual.map((message, at) => reduced(message, expected[at])),
    expected.map((message) => wanted(message, events)),
  )
}

const nodeBytes = [...nodeIdBytes(stream.node).bytes]

function wanted({ meta, ...message }: Expected, events: readonly AqlEvent[]): unknown {
  const text = JSON.stringify(message).replaceAll('"<nodeId bytes>"', JSON.stringify(nodeBytes))
  const plain = JSON.parse(text) as Message
  if (meta === undefined) return plain
  if (meta === 'synthetic') return { ...plain, lamport: 0, timestamp: 0 }
  if ('event' in meta) return { ...plain, lamport: events[meta.event]?.lamport, timestamp: events[meta.event]?.time }
  const [first, last] = meta.range.map((at) => events[at]?.lamport)
  return { ...plain, from: first, to: last }
}

interface Spanning extends Message {
  readonly fromKey: { readonly lamport: number }
  readonly toKey: { readonly lamport: number }
}

/** The fields of a message that are compared. */
function reduced(message: Message, expected: Expected | undefined): unknown {
  const { type, payload, severity, message: text, lamport, timestamp } = message
  if (type === 'diagnostic') return { type, severity, message: withoutOrigin(text, expected?.message) }
  if (type === 'offsets') return { type }
  const meta = expected?.meta
  if (meta === undefined) return { type, payload }
  if (typeof meta === 'object' && 'range' in meta) {
    const { fromKey, toKey } = message as Spanning
    return { type, payload, from: fromKey?.lamport, to: toKey?.lamport }
  }
  return { type, payload, lamport, timestamp }
}

/** The shown provenance depends on clock and time zone, so `<event>` matches any. */
function withoutOrigin(text = '', expected = ''): string {
  return expected.includes('<event>') ? text.replace(/\d+\/[./0-9A-Za-z]{4}-\d+@[-:.T0-9+]{32}/, '<event>') : text
}
