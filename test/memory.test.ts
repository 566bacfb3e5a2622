import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { boundHeaps, collectAll, growRoom, youngBytes } from '../src/memory.ts'

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
  for (const mebibytes of [8, 4, 8]) {
    collectAll()
    ok(youngBytes() <= mebibyte, `${youngBytes()} bytes when all was collected`)
    growRoom(mebibytes)
    const grown = youngBytes()
    // What is there is in pages, which have a head.
    ok(grown > 0.95 * mebibytes * mebibyte && grown <= mebibytes * mebibyte, `${grown} bytes`)
    work()
    equal(youngBytes(), grown)
    growRoom(mebibytes)
    equal(youngBytes(), grown)
  }
})
