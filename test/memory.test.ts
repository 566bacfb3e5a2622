import { ok } from 'node:assert/strict'
import { test } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { boundHeaps, collectAll, growRoom } from '../src/memory.ts'

/** Bytes of room for young objects: half of them are for those that outlive a collection. */
function room(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')?.space_size ?? 0
}

/** Makes objects, some of which live for a moment. */
function work(): void {
  let kept: unknown[] = []
  for (let i = 0; i < 2_000_000; i++) {
    kept.push([i])
    if (kept.length > 100_000) kept = []
  }
}

const mebibyte = 1024 * 1024

test('a thread that has given back its room for young objects gets as much again as it needs, and no more', () => {
  boundHeaps()
  for (let round = 0; round < 3; round++) {
    collectAll()
    ok(room() <= 2 * mebibyte, `${room()} bytes when all was collected`)
    growRoom(8)
    const grown = room()
    ok(grown >= 8 * mebibyte && grown <= 16 * mebibyte, `${grown} bytes`)
    work()
    ok(room() === grown, `${room()} bytes after some work, ${grown} before it`)
  }
})
