import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../src/limits.ts'
import { NdjsonWriter, spareMemory } from '../../src/store/log/index.ts'
import { SpareMemory } from '../../src/store/log/spare-memory.ts'

test('memory that came back is used again where it fits, and not kept beyond its limit', () => {
  const spareMemory = new SpareMemory()
  const memory = new ArrayBuffer(limits.pieceBytes + 1000)
  spareMemory.give(memory)
  const sizes = [limits.pieceBytes + 1001, limits.pieceBytes / 4, 2 * limits.pieceBytes]
  for (const size of sizes) assert.equal(spareMemory.take(size).length, size)
  assert.equal(spareMemory.take(limits.pieceBytes).buffer, memory)
  assert.notEqual(spareMemory.take(limits.pieceBytes).buffer, memory)
  const small = new ArrayBuffer(1024)
  const many = Array.from({ length: 100 }, () => new ArrayBuffer(limits.pieceBytes))
  for (const memory of [small, ...many]) spareMemory.give(memory)
  const kept = many.filter(({ detached }) => !detached)
  assert.ok(small.detached)
  assert.equal(kept.length, limits.sparePieceBytes / limits.pieceBytes)
})

test('what is written to memory that was used before has nothing of what stood there', () => {
  const writer = new NdjsonWriter(limits.pieceBytes)
  const taken: string[] = []
  for (let round = 0; round < 5; round++) {
    const line = String.fromCharCode(97 + round).repeat(limits.pieceBytes - 1 - round * 50_000)
    writer.clear()
    writer.line(line)
    assert.equal(writer.written.toString(), `${line}\n`)
    // As it goes to another thread, and comes back.
    const { buffer } = structuredClone(writer.written, { transfer: [writer.written.buffer] })
    taken.push(`${buffer.byteLength}`)
    spareMemory.give(buffer)
  }
  assert.equal(new Set(taken).size, 1)
})

test('whoever had much to say once gives its memory up when there is little to say', () => {
  const writer = new NdjsonWriter(limits.pieceBytes)
  writer.line('x'.repeat(limits.pieceBytes))
  const sizes: number[] = []
  for (let i = 0; i < 20; i++) {
    writer.clear()
    writer.line('a line')
    assert.equal(writer.written.toString(), 'a line\n')
    sizes.push(writer.written.buffer.byteLength)
  }
  assert.ok((sizes[0] as number) > limits.pieceBytes / 2)
  assert.ok((sizes.at(-1) as number) <= 8192)
  assert.deepEqual(
    sizes,
    sizes.toSorted((a, b) => b - a),
  )
})
