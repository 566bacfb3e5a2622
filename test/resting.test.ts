import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { restAfterWork } from '../src/resting.ts'

/** Keeps the thread at work, with garbage that stays until somebody collects it. */
function work(ms: number): void {
  let kept: unknown[] = []
  for (const end = performance.now() + ms; performance.now() < end; ) {
    kept.push({ text: String(kept.length), list: [kept.length] })
    if (kept.length > 200_000) kept = []
  }
}

test('a thread that has worked rests once it has nothing to do, and its garbage is gone', async () => {
  let rest = Promise.withResolvers<{ before: number; after: number }>()
  let before = 0
  restAfterWork({
    fromBytes: 0,
    begins: () => {
      before = process.memoryUsage().heapTotal
    },
    ends: () => rest.resolve({ before, after: process.memoryUsage().heapTotal }),
  })
  // The watch itself keeps nobody alive.
  const alive = setInterval(() => {}, 1000)
  try {
    for (let round = 0; round < 2; round++) {
      // What is done before the event loop has begun is no work of it.
      await new Promise(setImmediate)
      work(400)
      const { before, after } = await rest.promise
      ok(after < before / 2, `${before} bytes of heap, ${after} when it rests`)
      rest = Promise.withResolvers()
    }
  } finally {
    clearInterval(alive)
  }
})

test('what a rest takes is no work after which there is another one', async () => {
  let rests = 0
  restAfterWork({
    fromBytes: 0,
    begins: () => {
      rests++
      work(400)
    },
  })
  await new Promise(setImmediate)
  work(400)
  // Others look as often as this one does: when it has rested, it has looked as often as they.
  let looks = 0
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      if (rests > 0 && ++looks === 4) {
        clearInterval(timer)
        resolve()
      }
    }, 1000)
  })
  equal(rests, 1)
})

test('what fails at a rest does no harm, and is tried again at the next one', async () => {
  let rest = Promise.withResolvers<void>()
  restAfterWork({
    fromBytes: 0,
    begins: () => {
      throw new Error('not now')
    },
    ends: () => {
      rest.resolve()
      throw new Error('not now either')
    },
  })
  const alive = setInterval(() => {}, 1000)
  for (let round = 0; round < 2; round++) {
    await new Promise(setImmediate)
    work(400)
    await rest.promise
    rest = Promise.withResolvers()
  }
  clearInterval(alive)
})

test('nobody rests as long as the process is small', async () => {
  const [small, large] = [{ rests: 0 }, Promise.withResolvers<void>()]
  restAfterWork({ fromBytes: Number.MAX_SAFE_INTEGER, begins: () => small.rests++ })
  restAfterWork({ fromBytes: 0, begins: () => large.resolve() })
  const alive = setInterval(() => {}, 1000)
  await new Promise(setImmediate)
  work(400)
  await large.promise
  // Both look at the same time.
  await new Promise(setImmediate)
  clearInterval(alive)
  equal(small.rests, 0)
})

test('a thread that sleeps where its event loop takes it for work rests nevertheless', async () => {
  const begin = Promise.withResolvers<void>()
  const bell = new Int32Array(new SharedArrayBuffer(4))
  let waitedMs = 0
  restAfterWork({ fromBytes: 0, waitedMs: () => waitedMs, begins: () => begin.resolve() })
  await new Promise(setImmediate)
  work(400)
  const sleeping = setInterval(() => {
    const start = performance.now()
    Atomics.wait(bell, 0, 0, 20)
    waitedMs += performance.now() - start
  }, 50)
  try {
    await begin.promise
  } finally {
    clearInterval(sleeping)
  }
})
