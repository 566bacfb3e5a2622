import { join } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import { KeyPair, type NodeId, nodeIdOf } from '../../identity/index.ts'
import type { Runtime } from '../../runtime/system-runtime.ts'
import { diskSync } from '../disk/sync.ts'
import { LogWriter, logMeta } from '../sqlite/index.ts'
import type { DataFolder } from './data-folder.ts'
import { NodeDatabase } from './node-database.ts'
import { acceptRestoredTopics } from './restored-topics.ts'
import { topicFiles } from './topic-files.ts'
import { writeDurably } from './write-durably.ts'

/** The result of a new identity. */
export interface NewIdentity {
  readonly nodeId: NodeId
  readonly formerId: NodeId
  /** The file with the former key. */
  readonly formerKeyFile: string
}

/**
 * Gives a stopped node a new key. Its streams become those of another node, which has the former key: they stay, and
 * nothing is added to them. After a crash at any point, either the former or the new key is in force, and this can be
 * repeated.
 */
export function replaceIdentity(folder: DataFolder, { clock, random }: Pick<Runtime, 'clock' | 'random'>): NewIdentity {
  const database = NodeDatabase.open(folder.nodeDatabase)
  try {
    const former = database.key
    if (former === undefined)
      throw new ShoalError('ERR_INVALID_INPUT', `the node in \`${folder.path}\` has no identity yet: start it first`)
    const formerId = nodeIdOf(former.publicKey)
    const formerKeyFile = join(
      folder.path,
      `former-key-${Buffer.from(former.publicKey).toString('hex').slice(0, 16)}.json`,
    )
    const replaced = new Date(clock.now() / 1000).toISOString()
    const content = { nodeId: formerId, privateKey: former.toPrivateText(), replaced }
    writeDurably(formerKeyFile, `${JSON.stringify(content)}\n`, diskSync)
    for (const file of topicFiles(folder.path)) keepHeads(file, former, { clock, random })
    const key = KeyPair.generate(random)
    database.replaceKey(key)
    // There is no doubt about the streams of a key that has none. Not earlier: with the former key there may be.
    acceptRestoredTopics(folder.path)
    return { nodeId: nodeIdOf(key.publicKey), formerId, formerKeyFile }
  } finally {
    database.close()
  }
}

/** Stores the last heads that the former key signs: without them the end of its streams could not be verified. */
function keepHeads(file: string, key: KeyPair, { clock, random }: Pick<Runtime, 'clock' | 'random'>): void {
  const { topic, kind } = logMeta(file)
  if (kind === 'imported') return
  const writer = new LogWriter({ file, topic, kind, key, now: clock.now, random })
  try {
    writer.storeOwnHeads()
  } finally {
    writer.close()
  }
}
