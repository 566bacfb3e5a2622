import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tuning } from '../../src/base/tuning.ts'
import { NdjsonWriter } from '../../src/store/jobs/ndjson-writer.ts'
import { SpareMemory, spareMemory } from '../../src/store/jobs/spare-memory.ts'

test('returned buffers are reused for matching sizes, up to the limit', () => {
  const spareMemory = new SpareMemory()
  const memory = new ArrayBuffer(tuning.pieceBytes + 1000)
  spareMemory.give(memory)
  const sizes = [tuning.pieceBytes + 1001, tuning.pieceBytes / 4, 2 * tuning.pieceBytes]
  for (const size of sizes) assert.equal(spareMemory.take(size).length, size)
  assert.equal(spareMemory.take(tuning.pieceBytes).buffer, memory)
  assert.notEqual(spareMemory.take(tuning.pieceBytes).buffer, memory)
  const small = new ArrayBuffer(1024)
  const many = Array.from({ length: 100 }, () => new ArrayBuffer(tuning.pieceBytes))
  for (const memory of [small, ...many]) spareMemory.give(memory)
  const kept = many.filter(({ detached }) => !detached)
  assert.ok(small.detached)
  assert.equal(kept.length, tuning.sparePieceBytes / tuning.pieceBytes)
})

test('lines in a reused buffer contain nothing of its previous content', () => {
  const writer = new NdjsonWriter(tuning.pieceBytes)
  const taken: string[] = []
  for (let round = 0; round < 5; round++) {
    const line = String.fromCharCode(97 + round).repeat(tuning.pieceBytes - 1 - round * 50_000)
    writer.clear()
    writer.line(line)
    assert.equal(writer.written.toString(), `${line}\n`)
    // As if transferred to another thread and back.
    const { buffer } = structuredClone(writer.written, { transfer: [writer.written.buffer] })
    taken.push(`${buffer.byteLength}`)
    spareMemory.give(buffer)
  }
  assert.equal(new Set(taken).size, 1)
})

test('a writer that once had a large line shrinks its buffer gradually', () => {
  const writer = new NdjsonWriter(tuning.pieceBytes)
  writer.line('x'.repeat(tuning.pieceBytes))
  const sizes: number[] = []
  for (let i = 0; i < 20; i++) {
    writer.clear()
    writer.line('a line')
    assert.equal(writer.written.toString(), 'a line\n')
    sizes.push(writer.written.buffer.byteLength)
  }
  assert.ok((sizes[0] as number) > tuning.pieceBytes / 2)
  assert.ok((sizes.at(-1) as number) <= 8192)
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
  )
})
