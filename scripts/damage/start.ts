import { createHash } from 'node:crypto'
import { FileStore } from '../../src/files/thread/file-store.ts'
import type { KeyPair } from '../../src/identity/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { Settings, type SettingsDocument } from '../../src/settings/index.ts'
import {
  BlobStore,
  blobFile,
  blockFile,
  DataFolder,
  NodeDatabase,
  type StoreDamage,
  topicFile,
  topicFiles,
} from '../../src/store/index.ts'
import type { Selection } from '../../src/store/port/index.ts'
import { LogReader, LogWriter } from '../../src/store/sqlite/index.ts'
import { linesOf } from '../../test/store/damage/queries.ts'
import { appId } from './data-folder.ts'

/** The result of a read: a value, or an error. */
export type Result = { readonly value: string } | { readonly error: unknown }

/** The result of a start. */
export interface Started {
  /** Results by name. A component that could not be opened has an error for each of them. */
  readonly results: ReadonlyMap<string, Result>
  /** Damage reported by components that could be opened, by name. */
  readonly damage: ReadonlyMap<string, readonly StoreDamage[]>
}

/** Opens a data folder as the start of a node does, and reads everything. The topic is that of the settings. */
export async function startOn(path: string): Promise<Started> {
  const results = new Map<string, Result>()
  const damage = new Map<string, readonly StoreDamage[]>()
  try {
    const folder = DataFolder.open(path, { create: true })
    try {
      const database = NodeDatabase.open(folder.nodeDatabase)
      try {
        const { document } = await Settings.open(database.settings, systemClock)
        const { key, startCounter } = database.beginStart(systemRandom, topicFiles(path))
        results.set('node', { value: JSON.stringify([key.toPrivateText(), startCounter, document]) })
        readParts(path, key, document, results, damage)
      } finally {
        database.close()
      }
    } finally {
      folder.close()
    }
  } catch (error) {
    if (!results.has('node')) results.set('node', { error })
    else throw error
  }
  return { results, damage }
}

type RecordResult = (query: string, value: () => unknown) => void

function readParts(
  path: string,
  key: KeyPair,
  { swarm }: SettingsDocument,
  results: Map<string, Result>,
  damage: Map<string, readonly StoreDamage[]>,
): void {
  const part = (name: string, work: (record: RecordResult) => readonly StoreDamage[]): void => {
    const record: RecordResult = (query, value) => {
      try {
        results.set(`${name}: ${query}`, { value: hashOf(value()) })
      } catch (error) {
        results.set(`${name}: ${query}`, { error })
      }
    }
    try {
      damage.set(name, work(record))
    } catch (error) {
      results.set(name, { error })
    }
  }
  part('events', (record) => readEvents(topicFile(path, swarm.topic), swarm.topic, key, record))
  part('files', (record) => readFiles(blockFile(path, swarm.topic), record))
  part('blobs', (record) => readBlobs(blobFile(path, swarm.topic), record))
}

const selections: Readonly<Record<string, Selection>> = {
  everything: { anyOf: [{ tags: [] }], order: 'asc' },
  'one of seven, downwards': { anyOf: [{ tags: ['mod:3'] }], order: 'desc' },
  'one tag': { anyOf: [{ tags: ['id:1700000000000000'] }], order: 'asc' },
}

function readEvents(file: string, topic: string, key: KeyPair, record: RecordResult): readonly StoreDamage[] {
  const writer = new LogWriter({
    file,
    topic,
    kind: 'live',
    key,
    now: () => 1_700_000_001_000_000,
    random: systemRandom,
  })
  try {
    const reader = new LogReader(file, writer.counts, key.publicKey, systemClock)
    try {
      for (const [name, selection] of Object.entries(selections))
        record(name, () => {
          const { bytes, error } = linesOf(reader, selection)
          if (error !== undefined) throw error
          return bytes
        })
      record('streams', () =>
        JSON.stringify(reader.status().map(({ number, count, pruned }) => [number, count, pruned])),
      )
      return writer.damage
    } finally {
      reader.close()
    }
  } finally {
    writer.close()
  }
}

function readFiles(file: string, record: RecordResult): readonly StoreDamage[] {
  const store = new FileStore(file, systemRuntime)
  try {
    record('names', () => JSON.stringify(store.names()))
    record('followed', () => JSON.stringify(store.appliedOffsets()))
    for (const name of ['large', 'small', 'other']) record(name, () => fileOf(store, name))
    record('no name', () => JSON.stringify(store.find('nothing', [])))
    return store.damage
  } finally {
    store.close()
  }
}

function fileOf(store: FileStore, name: string): Buffer {
  const { content } = store.find(name, [])
  if (content === undefined || !('size' in content)) throw new Error(`${name} is not found`)
  const pieces: Uint8Array[] = []
  const cid = store.cidOf(name) ?? ''
  for (let at = 0; at < (content.size ?? 0); ) {
    const piece = store.read(cid, at)
    if (!(piece instanceof Uint8Array)) throw new Error(`${name} ends at ${at}`)
    pieces.push(piece)
    at += piece.length
  }
  return Buffer.concat(pieces)
}

function readBlobs(file: string, record: RecordResult): readonly StoreDamage[] {
  const blobs = new BlobStore(file, () => 1_700_000_000_000)
  try {
    for (const path of ['', 'folder', 'nothing'])
      record(`list ${path}`, () => JSON.stringify([...(blobs.list(appId, path) ?? [])]))
    for (const path of ['a', 'b', 'folder/c', 'folder/d', 'text', 'last', 'nothing'])
      record(path, () => {
        const blob = blobs.get(appId, path)
        return Buffer.concat([Buffer.from(`${blob?.type}\n`), blob?.bytes ?? Buffer.alloc(0)])
      })
    return blobs.damage
  } finally {
    blobs.close()
  }
}

function hashOf(value: unknown): string {
  const bytes = value instanceof Uint8Array ? value : Buffer.from(String(value))
  return `${bytes.length} bytes ${createHash('sha256').update(bytes).digest('hex').slice(0, 16)}`
}
