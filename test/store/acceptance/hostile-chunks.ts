import assert from 'node:assert/strict'
import { encodeChunk, MalformedBytes } from '../../../src/protocol/index.ts'
import { readChunk, withoutPayloads } from '../../../src/replication/index.ts'
import { memoryStore } from './sources.ts'
import { numbered, numbersOf, range, requestOf, rules, unchanged } from './support.ts'

/** A chunk as a relay can rewrite it: without the payload of an event, with the same chain and head. */
function stripped(chunk: Uint8Array, offset: number): Buffer {
  const { frames, signedHead } = readChunk(chunk)
  const records = withoutPayloads(frames, [offset]).map(({ bytes, record }) => bytes.subarray(...record))
  return encodeChunk(records, signedHead)
}

const isStripped = (error: unknown): boolean =>
  error instanceof MalformedBytes && error.message === 'a payload is missing without a redaction record'

/** Chunks that no honest node sends. */
export const refusingChunks = rules(({ small }) => {
  small('a chunk without a payload is refused until the redaction record is known', async (t, open) => {
    const [store, source] = [await open(t), memoryStore()]
    await source.append(requestOf(numbered(5)))
    await store.receive((await source.chunk(0, 0)) as Uint8Array)
    await source.append(requestOf(numbered(5, 5)))
    const chunk = stripped((await source.chunk(0, 0)) as Uint8Array, 7)
    await unchanged(store, () => assert.rejects(store.receive(chunk), isStripped))
    await store.applyRedaction(await source.redact(0, [7]))
    assert.deepEqual(await store.receive(chunk), { state: 'stored', count: 10 })
    assert.deepEqual(await numbersOf(store), [...range(0, 7), 8, 9])
  })
})
