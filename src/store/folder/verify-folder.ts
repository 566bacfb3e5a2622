import { existsSync, readdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { messageOf, ShoalError } from '../../base/errors.ts'
import { nodeIdOf } from '../../identity/index.ts'
import { type BlobsReport, verifyBlobs } from '../blobs/verify-blobs.ts'
import { type BlocksReport, verifyBlocks } from '../blocks/index.ts'
import { checkWal } from '../disk/wal-check.ts'
import { type VerifyReport, verifyLog } from '../sqlite/index.ts'
import type { FolderProgress } from './folder-progress.ts'
import { NodeDatabase } from './node-database.ts'
import { blobsBeside, blocksBeside, topicFile, topicsFolder } from './topic-files.ts'

/** The result of verifying all databases of a topic; null for a database that is missing or unreadable. */
export type TopicReport = VerifyReport & { readonly files: BlocksReport | null; readonly blobs: BlobsReport | null }

/** The damage that was found, and a report of each topic. */
export interface Verified {
  readonly problems: readonly string[]
  readonly reports: readonly TopicReport[]
}

/** Verifies the whole data folder of a stopped node. */
export function verifyFolder(path: string, progress: FolderProgress = () => {}): Verified {
  const found = new Findings(false)
  const node = found.in(join(path, 'node.db'), nodeIn) ?? ''
  const { problems, reports } = verifyTopics(path, node, progress, { isRunning: false })
  return { problems: [...found.problems, ...problems], reports }
}

/** Verifies all topics. Of a running node, freed slots of blocks must not be reused meanwhile. */
export function verifyTopics(
  path: string,
  node: string,
  progress: FolderProgress,
  { isRunning }: { readonly isRunning: boolean },
): Verified {
  const found = new Findings(isRunning)
  const topics = everyTopic(path)
  const all = topics.reduce((bytes, file) => bytes + bytesOf(file), 0)
  let done = 0
  const reports = topics.flatMap((file) => {
    const step = (text: string): void => progress({ text, done, all })
    const report = found.in(file, () => verifyTopic(path, file, node, found, step)) ?? []
    done += bytesOf(file)
    return report
  })
  return { problems: found.problems, reports }
}

/** The size of all databases of a topic. */
function bytesOf(file: string): number {
  const databases = [file, blobsBeside(file), blocksBeside(file)].filter(existsSync)
  return databases.reduce((bytes, database) => bytes + statSync(database).size, 0)
}

/** Collects damage. An unreadable database is one more finding and does not stop the verification. */
class Findings {
  readonly problems: string[] = []
  readonly #isRunning: boolean

  constructor(isRunning: boolean) {
    this.#isRunning = isRunning
  }

  add(where: string, problems: readonly string[]): void {
    this.problems.push(...problems.map((problem) => `${where}: ${problem}`))
  }

  in<T>(file: string, work: (file: string) => T): T | undefined {
    try {
      // A running node has opened it without damage, and writes to it now.
      const wal = this.#isRunning ? undefined : checkWal(file, { keep: false })
      if (wal !== undefined) this.add(basename(file), [wal.text])
      return work(file)
    } catch (error) {
      this.add(basename(file), [messageOf(error)])
      return undefined
    }
  }
}

/** The event databases of all topics, including topics of which only blocks or blobs are left. */
function everyTopic(path: string): string[] {
  const folder = topicsFolder(path)
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.db')) : []
  return [...new Set(names.map((name) => join(folder, name.replace(/-(blobs|blocks)\.db$/, '.db'))))].sort()
}

function verifyTopic(
  path: string,
  file: string,
  node: string,
  found: Findings,
  progress: (text: string) => void,
): TopicReport {
  const step = (name: string, what: string) => (count: number) => progress(`${basename(name)}: ${count} ${what}`)
  const [blocks, blobs] = [blocksBeside(file), blobsBeside(file)]
  const files = existsSync(blocks) ? found.in(blocks, () => verifyBlocks(blocks, node, step(blocks, 'blocks'))) : null
  const ofApps = existsSync(blobs) ? found.in(blobs, () => verifyBlobs(blobs, step(blobs, 'blobs'))) : null
  const events = verifyLog(file, step(file, 'events'))
  const isKnown = events.topic !== ''
  const isElsewhere = isKnown && topicFile(path, events.topic) !== file
  found.add(isKnown ? `topic '${events.topic}'` : basename(file), [
    ...(isElsewhere ? [`it is in the file of another topic, \`${basename(file)}\``] : []),
    ...events.problems,
    ...(files?.problems ?? []),
    ...(ofApps?.problems ?? []),
  ])
  return { ...events, files: files ?? null, blobs: ofApps ?? null }
}

/** The node ID; empty for a node that was never started. Throws when its key or settings are damaged. */
function nodeIn(file: string): string {
  const database = NodeDatabase.open(file)
  try {
    const problems = database.problems()
    if (problems.length > 0) throw new ShoalError('ERR_INVALID_NODE_STATE', problems.join('; '))
    return database.publicKey === undefined ? '' : nodeIdOf(database.publicKey)
  } finally {
    database.close()
  }
}
