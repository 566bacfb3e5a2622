import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { failure, ShoalError } from '../../base/errors.ts'
import { limits } from '../../base/limits.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import {
  backupTopics,
  blobsBeside,
  blocksBeside,
  checkWal,
  copyStoppedIdentity,
  type FolderProgress,
  type FolderStep,
  type TopicReport,
  topicFiles,
  type Verified,
  verifyFolder,
} from '../../store/index.ts'
import { errorOf } from '../client/api-client.ts'
import { inStoppedFolder } from '../client/node-or-folder.ts'
import { folderOfNode, type NamedNode, onNode } from '../client/on-node.ts'
import { readLines } from '../client/response-body.ts'
import type { Result } from '../output/output.ts'
import { progressBar, withProgress } from '../output/progress.ts'

/** Verifies identity, settings and every topic, byte by byte. Fails with a list of all damage. */
export async function verifyStore(named: NamedNode): Promise<Result> {
  const { problems, reports } = await withSteps((progress) =>
    onNode<Verified>(named, systemRuntime, {
      running: async (node) =>
        await endOf(await node.stream({ method: 'POST', path: '/store/verify', isLong: true }), progress),
      stopped: async (folder) => inStoppedFolder(folder, (path) => verifyFolder(path, progress)),
    }),
  )
  if (problems.length > 0)
    throw new ShoalError(
      'ERR_INVALID_NODE_STATE',
      `The store is damaged.\n${problems.map((problem) => `\t${problem}`).join('\n')}`,
    )
  return { text: () => reports.map(verifyText).join('\n') || 'There are no events yet.', json: reports }
}

interface BackedUp {
  readonly target: string
  readonly topics: number
}

/** Backs up a node to a new data folder: on the machine of the node, if that is another one. */
export async function backupStore(named: NamedNode, target: string): Promise<Result> {
  const path = folderOfNode(named) !== undefined ? resolve(target) : target
  const copied = await withSteps((progress) =>
    onNode<BackedUp>(named, systemRuntime, {
      running: async (node) => {
        const sent = { method: 'POST', path: '/store/backup', body: { target: path }, isLong: true } as const
        return await endOf(await node.stream(sent), progress)
      },
      stopped: async (folder) => inStoppedFolder(folder, (from) => backupFolder(from, path, progress)),
    }),
  )
  const text = `Copied ${copied.topics} topics, identity and settings to ${copied.target}.`
  return { text: () => text, json: copied }
}

function backupFolder(folder: string, target: string, progress: FolderProgress): BackedUp {
  for (const file of topicFiles(folder))
    for (const database of [file, blobsBeside(file), blocksBeside(file)]) warnOfDamagedWal(database)
  const topics = backupTopics(folder, target, systemClock.now(), progress)
  copyStoppedIdentity(folder, target)
  return { target, topics }
}

/** Warns of a damaged write-ahead log: SQLite ignores everything after the damage, so the backup lacks it. */
function warnOfDamagedWal(file: string): void {
  const damage = checkWal(file, { keep: true })
  if (damage !== undefined) process.stderr.write(`Warning: ${damage.text}\n`)
}

/** Reads the progress of a job, and returns the result at its end. */
async function endOf<T>(response: Readable, progress: FolderProgress): Promise<T> {
  for await (const line of readLines(response, limits.commandAnswerBytes)) {
    // An empty line keeps the connection alive.
    if (line === '') continue
    if (line.startsWith('{"code":')) throw errorOf(line, undefined)
    const { type, result, ...step } = JSON.parse(line) as { type: string; result?: T } & FolderStep
    if (type === 'result') return result as T
    if (type === 'progress') progress(step)
  }
  throw failure('ERR_NODE_UNREACHABLE', { cause: 'the answer ended before the result' })
}

/** Shows the progress of a job on a terminal. */
function withSteps<T>(work: (progress: FolderProgress) => Promise<T>): Promise<T> {
  return withProgress(systemClock, (show) => work(({ text, done, all }) => show(`${progressBar(done, all)}  ${text}`)))
}

function verifyText(report: TopicReport): string {
  const { topic, streams, events, segments, removedPayloads, notes, files, blobs } = report
  const removed = removedPayloads > 0 ? `, ${removedPayloads} payloads removed` : ''
  const missing = files !== null && files.missing > 0 ? `, ${files.missing} others not local` : ''
  return [
    `topic '${topic}': ${events} events in ${streams} streams and ${segments} segments${removed}: intact`,
    ...notes.map((note) => `  ${note}`),
    ...(files === null ? [] : [`  ${files.blocks} blocks of files${missing}: intact`]),
    ...(blobs === null ? [] : [`  ${blobs.blobs} blobs of apps: intact`]),
  ].join('\n')
}
