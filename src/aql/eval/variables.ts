import type { EventKeyLiteral } from '../ast.ts'
import { compareTexts } from '../values/comparison.ts'
import type { AqlEvent } from '../values/event.ts'
import { type KeyWithOffset, type Metadata, Span } from '../values/metadata.ts'
import { nodeIdBytes } from '../values/node-id.ts'
import { integer } from '../values/numbers.ts'
import { Timestamp, type Value } from '../values/value.ts'
import { type Code, frameAt, originOf, type Slot } from './code.ts'
import type { Frame } from './variable-frame.ts'

/** Reads a variable. `isInput`: it is the input of the source, an event whose payload may not be parsed yet. */
export function variable(slot: Slot, isInput: boolean): Code {
  const origin = originOf([slot])
  return { sync: true, run: isInput ? inputReader(slot.hops) : slotReader(slot), origin }
}

function inputReader(hops: number): (frame: Frame) => Value {
  if (hops === 0) return (frame) => frame.values[0] ?? frame.read()
  return (frame) => frameAt(frame, hops).read()
}

function slotReader({ hops, slot }: Slot): (frame: Frame) => Value {
  if (hops === 0) return (frame) => frame.values[slot] as Value
  return (frame) => frameAt(frame, hops).values[slot] as Value
}

/** `KEY(v)`, `TIME(v)`, `TAGS(v)`, `APP(v)`. */
export function metadataAccess(what: 'key' | 'time' | 'tags' | 'app', slot: Slot): Code {
  const origin = originOf([slot])
  const read = readers[what]
  return { sync: true, run: (frame) => read(origin.of(frame)), origin }
}

const readers: Readonly<Record<'key' | 'time' | 'tags' | 'app', (metadata: Metadata) => Value>> = {
  key: (metadata) => {
    if (metadata === undefined) return []
    return metadata instanceof Span ? [keyOf(metadata.first), keyOf(metadata.last)] : [keyOf(metadata)]
  },
  time: (metadata) => {
    if (metadata === undefined) return []
    if (metadata instanceof Span) return [new Timestamp(metadata.earliest), new Timestamp(metadata.latest)]
    return [new Timestamp(metadata.time)]
  },
  tags: (metadata) => (isEvent(metadata) ? [...new Set(metadata.tags)].sort(compareTexts) : []),
  app: (metadata) => (isEvent(metadata) ? [metadata.appId] : []),
}

function isEvent(metadata: Metadata): metadata is AqlEvent {
  return metadata !== undefined && !(metadata instanceof Span)
}

function keyOf({ lamport, stream, offset }: KeyWithOffset): Value {
  return [lamport, nodeIdBytes(stream.node), integer(BigInt(stream.number)), offset]
}

/** `KEY(5/stream)`: a literal event key. */
export function keyLiteral({ lamport, stream }: EventKeyLiteral): Value {
  return [[integer(lamport), nodeIdBytes(stream.node), integer(stream.number)]]
}
