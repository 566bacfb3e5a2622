// Uses a store while file descriptors are exhausted, and prints the outcome as JSON. Run by
// test/store/without-descriptors.test.ts in a process with a low limit of open files.
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { ShoalError } from '../../src/base/errors.ts'
import { tuning } from '../../src/base/tuning.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { residentBytes } from '../../src/runtime/process-memory.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { logStats, SqliteEventStore, ThreadedBlobs, type ThreadWatch } from '../../src/store/index.ts'
import { packed } from './events.ts'
import { until } from './process.ts'

const [folder = ''] = process.argv.slice(2)
const file = join(folder, 'log.db')
const failures: string[] = []
const failedThreads = new Set<string>()
const threads: ThreadWatch = {
  startFailed: (thread) => void failedThreads.add(thread),
  ended: () => {},
  started: () => {},
}
const held: number[] = []
/** Opens files until no descriptor is left, including those that threads have closed since. */
function takeDescriptors(): void {
  try {
    for (;;) held.push(openSync('/dev/null', 'r'))
  } catch {
    // EMFILE: none is left.
  }
}

let isExhausted = false
// Takes the descriptors of a thread that has ended before a new thread can use them.
process.on('worker', (thread) => {
  thread.prependListener('exit', () => {
    if (isExhausted) takeDescriptors()
  })
})

const store = await SqliteEventStore.open({
  runtime: systemRuntime,
  file,
  topic: 't',
  kind: 'live',
  key: KeyPair.generate(systemRandom),
  readerModule: new URL('./breaking-reader-thread.ts', import.meta.url),
  failed: (error) => failures.push(error.message),
  threads,
})
const blobs = new ThreadedBlobs(join(folder, 'blobs.db'), { threads })

function chunk(): Parameters<SqliteEventStore['append']>[0] {
  const events = Array.from({ length: 1024 }, (_, i) => ({
    appId: 'com.example.a',
    tags: ['all'],
    payload: `{"i":${i}}`,
  }))
  return { ...packed(events), streams: new Uint32Array(events.length) }
}

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work
    return 'none'
  } catch (error) {
    return error instanceof ShoalError ? error.code : String(error)
  }
}

async function read(): Promise<number> {
  let lines = 0
  for await (const piece of store.read({ anyOf: [{ tags: ['all'] }], order: 'asc' }))
    lines += piece.toString('latin1').split('\n').length - 1
  return lines
}

isExhausted = true
takeDescriptors()
const hasMemory = residentBytes() !== undefined
const chunks = 2 * tuning.maxUnsealedChunks
for (let i = 0; i < chunks; i++) await store.append(chunk())
const readWithout = await read()
const blob = { type: 'text/plain', bytes: Buffer.from('x') }
takeDescriptors()
const putWithout = await codeOf(blobs.put('a', 'b', blob))
await store.start('end', {}).ended
const readBroken = await codeOf(read())
const failed = [...failedThreads].sort()
isExhausted = false
for (const descriptor of held) closeSync(descriptor)
const { sealed: sealedWithout = 0 } = logStats(file).streams[0] ?? {}

const waitFor = async <T>(value: () => Promise<T | undefined>): Promise<T> =>
  await until(value, () => 'it does not recover')
const readAfter = await waitFor(async () => await read().catch(() => undefined))
const putAfter = await codeOf(blobs.put('a', 'b', blob))
// The sealer is down longer than the reader thread.
await store.append(chunk())
await waitFor(async () => {
  const { sealed = 0, events = 0 } = logStats(file).streams[0] ?? {}
  return events - sealed < 2 * 1024 ? true : undefined
})
await blobs.close()
await store.close()
const without = { hasMemory, read: readWithout, put: putWithout, broken: readBroken, sealed: sealedWithout, failed }
console.log(JSON.stringify({ failures, chunks, without, after: { read: readAfter, put: putAfter } }))
