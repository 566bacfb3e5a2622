import { createHash } from 'node:crypto'
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { format } from '../../src/base/format.ts'
import { FileStore } from '../../src/files/thread/file-store.ts'
import type { KeyPair } from '../../src/identity/index.ts'
import { nodeIdOf } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { Settings } from '../../src/settings/index.ts'
import {
  BlobStore,
  blobFile,
  blockFile,
  DataFolder,
  NodeDatabase,
  topicFile,
  topicsFolder,
} from '../../src/store/index.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { packed } from '../../test/support/events.ts'
import { chunkOf } from '../../test/support/upload.ts'

export const topic = 'damage'
export const appId = 'com.example.damage'

/** The state of a data folder: after a clean stop, or after a kill, with write-ahead logs. */
export const states = ['stopped', 'killed'] as const
export type State = (typeof states)[number]

/** Creates data folders with all kinds of data that a node stores, one for each state. */
export async function makeFolders(parent: string): Promise<Record<State, string>> {
  const [running, killed] = [join(parent, 'stopped'), join(parent, 'killed')]
  const folder = DataFolder.open(running, { create: true })
  const database = NodeDatabase.open(folder.nodeDatabase)
  const settings = await Settings.open(database.settings, systemClock)
  await settings.set(['swarm', 'topic'], topic, 'first')
  await settings.set(['admin', 'displayName'], 'Press 7', 'second')
  const { key } = database.beginStart(systemRandom)
  mkdirSync(topicsFolder(running), { mode: 0o700 })
  const closers = [storeEvents(running, key), await storeFiles(running, key), storeBlobs(running)]
  cpSync(running, killed, { recursive: true })
  for (const close of closers) await close()
  database.close()
  folder.close()
  return { stopped: running, killed }
}

function storeEvents(path: string, key: KeyPair): () => void {
  let time = 1_700_000_000_000_000
  const writer = new LogWriter({
    file: topicFile(path, topic),
    topic,
    kind: 'live',
    key,
    now: () => time++,
    random: systemRandom,
  })
  const append = (count: number, stream: number): void => {
    const events = Array.from({ length: count }, (_, i) => ({
      appId,
      tags: ['all', `mod:${i % 7}`, `id:${time}`],
      payload: JSON.stringify({ time, i }),
    }))
    writer.append([{ ...packed(events), streams: new Uint32Array(count).fill(stream) }])
  }
  append(format.eventsPerCheckpoint + 100, 0)
  append(format.eventsPerCheckpoint, 3)
  writer.sealAll()
  // Damage of free pages has no effect.
  writer.database.exec('PRAGMA incremental_vacuum')
  writer.truncateWal()
  for (let i = 0; i < 12; i++) append(1 + (i % 3), i % 2 === 0 ? 0 : 3)
  writer.recordEventCount()
  return () => writer.close()
}

async function storeFiles(path: string, key: KeyPair): Promise<() => Promise<void>> {
  const store = new FileStore(blockFile(path, topic), systemRuntime)
  const stream = `${nodeIdOf(key.publicKey)}-0`
  for (const [i, name] of ['large', 'small', 'other'].entries()) {
    const upload = store.beginUpload()
    await store.addChunks(upload, ...chunkOf(contents(name, i === 0 ? format.fileChunkBytes : 3000)))
    const { cid } = await store.endFile(upload)
    await store.commitUpload(upload)
    await store.apply([
      { fact: { kind: 'upload', cid, isPinned: true }, key: { lamport: 10 * i, stream } },
      { fact: { kind: 'name', name, cid }, key: { lamport: 10 * i + 1, stream } },
    ])
    store.endUpload(upload)
    await store.apply([], { [stream]: 10 * i + 1 })
  }
  return () => store.close()
}

/** Incompressible bytes, derived from the name. */
function contents(name: string, length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_, i) =>
    createHash('sha256').update(`${name} ${i}`).digest(),
  )
  return Buffer.concat(blocks).subarray(0, length)
}

function storeBlobs(path: string): () => void {
  const blobs = new BlobStore(blobFile(path, topic), () => 1_700_000_000_000)
  const names = ['a', 'b', 'folder/c', 'folder/d', 'text', 'last']
  for (const [i, name] of names.entries())
    blobs.put(appId, name, { type: i % 2 === 0 ? 'text/plain' : 'image/png', bytes: contents(name, 200 + 2500 * i) })
  return () => blobs.close()
}
