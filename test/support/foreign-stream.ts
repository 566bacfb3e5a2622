import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { formatStreamId, KeyPair, nodeIdOf } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { DataFolder, NodeDatabase, SqliteEventStore, topicFile, topicsFolder } from '../../src/store/index.ts'
import { packed } from './events.ts'
import { temporaryFolder } from './folder.ts'

const topic = 'default-topic'

/** Adds two events of another node to the topic of a stopped node. Returns the ID of their stream. */
export async function addForeignStream(t: TestContext, path: string): Promise<string> {
  const other = KeyPair.generate(systemRandom)
  const source = await openStore(join(temporaryFolder(t), 'other.db'), other)
  const events = [1, 2].map((payload) => ({ appId: 'com.example.a', tags: ['foreign'], payload: String(payload) }))
  await source.append({ ...packed(events), streams: new Uint32Array(2) })
  const [stream] = await source.streams()
  const chunk = await source.chunk(stream?.number ?? 0, 0)
  await source.close()
  const folder = DataFolder.open(path, { create: true })
  const database = NodeDatabase.open(folder.nodeDatabase)
  const { key } = database.beginStart(systemRandom)
  if (!existsSync(topicsFolder(path))) mkdirSync(topicsFolder(path))
  const store = await openStore(topicFile(path, topic), key)
  await store.receive(chunk as Uint8Array)
  await store.close()
  database.close()
  folder.close()
  return formatStreamId({ node: nodeIdOf(other.publicKey), number: 0n })
}

function openStore(file: string, key: KeyPair): Promise<SqliteEventStore> {
  return SqliteEventStore.open({ runtime: systemRuntime, file, topic, kind: 'live', key })
}
