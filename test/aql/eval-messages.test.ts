import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MessageWriter } from '../../src/aql/eval/messages.ts'
import { streamText } from '../../src/aql/values/event.ts'
import { type Metadata, merge } from '../../src/aql/values/metadata.ts'
import { nodeIdBytes } from '../../src/aql/values/node-id.ts'
import { casesOf } from './eval/cases.ts'
import { eventsFrom, linesOf, stream } from './eval/run.ts'

interface WireCase {
  readonly meta?: 'synthetic' | 'range'
  readonly nodeIdBytes?: readonly number[]
  readonly streamNr?: number
  readonly expect: string | Readonly<Record<string, unknown>>
}

const [first, second] = eventsFrom([
  { tags: ['a'], payload: 1, timestamp: 20 },
  { tags: ['b'], payload: 2, timestamp: 10 },
])

function written(metadata: Metadata, anti = false): Record<string, unknown> {
  const lines: string[] = []
  new MessageWriter((line) => lines.push(line)).value('7', metadata, anti)
  return JSON.parse(lines[0] ?? '') as Record<string, unknown>
}

const place = (lamport: number, offset: number) => ({ lamport, stream: streamText(stream), offset })

describe('messages', () => {
  for (const { name, meta, nodeIdBytes: bytes, streamNr = 0, expect } of casesOf<WireCase>('wire')) {
    test(name, () => {
      if (typeof expect === 'string') {
        const node = expect.slice(0, 43)
        assert.deepEqual([...nodeIdBytes(node).bytes], bytes)
        assert.equal(streamText({ node, number: streamNr }), expect)
      } else if (meta === 'range') {
        const range = { fromKey: place(1, 0), toKey: place(2, 1), fromTime: 10, toTime: 20 }
        assert.deepEqual(written(merge(first, second)), { type: 'event', ...expect, ...range, payload: 7 })
      } else assert.deepEqual(written(undefined), { type: 'event', ...expect, payload: 7 })
    })
  }

  test('the message of a value from one event has the metadata of that event', () => {
    const event = { ...place(1, 0), timestamp: 20, tags: ['a'], appId: 'com.example.test' }
    assert.deepEqual(written(first), { type: 'event', ...event, payload: 7 })
    assert.deepEqual(written(first, true), { type: 'antiEvent', ...event, payload: 7 })
  })

  test('the message of an unmodified event has its payload verbatim', () => {
    const events = eventsFrom([{ tags: ['a'], json: '{ "b" : 1.50, "b":2e0 }' }])
    for (const query of ["FROM 'a'", "FROM 'a' FILTER _.b = 2.0 LET x := _ LIMIT 5"])
      assert.match(linesOf(query, events)[0] ?? '', /"payload":\{ "b" : 1\.50, "b":2e0 \}\}$/)
  })

  test('the sum of a single -0.0 keeps its sign', () => {
    assert.match(linesOf('FROM [-0.0] AGGREGATE SUM(_)', [])[0] ?? '', /"payload":-0\.0\}$/)
    assert.match(linesOf('FROM [-0.0, 0.0] AGGREGATE SUM(_)', [])[0] ?? '', /"payload":0\.0\}$/)
  })
})
