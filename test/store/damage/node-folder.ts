import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { KeyPair } from '../../../src/identity/index.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { systemRandom } from '../../../src/runtime/random.ts'
import { Settings } from '../../../src/settings/index.ts'
import { identityRows } from '../../../src/store/folder/node-identity.ts'
import { NodeDatabase } from '../../../src/store/index.ts'
import { ownKey } from './small-store.ts'

/** The tables of version 1 of the node database: without checksums. */
const tablesOfVersion1 = `
  CREATE TABLE node (name TEXT PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE settings (
    revision INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, origin TEXT NOT NULL, document TEXT NOT NULL, seal TEXT NOT NULL
  ) STRICT;
  PRAGMA application_id = ${0x73686f6c};
  PRAGMA user_version = 1;
`

const documents = ['{"swarm":{"topic":"hall-2"}}', '{"swarm":{"topic":"hall-3"}}']

/** Writes a node database of format version 1, with a key, a start counter and two revisions of the settings. */
export function writeVersion1(file: string, key: KeyPair = ownKey): void {
  const database = new DatabaseSync(file)
  database.exec(tablesOfVersion1)
  const [privateKey] = identityRows(key, 0)
  database.prepare('INSERT INTO node VALUES (?, ?)').run(...(privateKey as [string, string]))
  database.prepare("INSERT INTO node VALUES ('cycles', 4)").run()
  const insert = database.prepare("INSERT INTO settings VALUES (NULL, ?, 'test', ?, 'of another version')")
  for (const document of documents) insert.run(1_700_000_000_000_000, document)
  database.close()
}

/** Writes the same with the current version. */
export async function writeNodeDatabase(folder: string): Promise<{ file: string; sound: Buffer }> {
  const file = join(folder, 'node.db')
  writeVersion1(file)
  const database = NodeDatabase.open(file)
  database.beginStart(systemRandom)
  await Settings.open(database.settings, systemClock)
  database.close()
  return { file, sound: readFileSync(file) }
}

/** The result of a start: private key, start counter and settings. Throws like a start does. */
export async function startOn(file: string, logs: readonly string[] = []): Promise<string> {
  const database = NodeDatabase.open(file)
  try {
    const { document } = await Settings.open(database.settings, systemClock, (revision) => {
      throw new Error(`revision ${revision} is called invalid instead of damaged`)
    })
    const { key, startCounter } = database.beginStart(systemRandom, logs)
    return JSON.stringify({ key: key.toPrivateText(), cycle: startCounter, document })
  } finally {
    database.close()
  }
}
