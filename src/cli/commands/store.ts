import { copyFileSync, existsSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import { systemClock } from '../../runtime/clock.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import {
  acceptRestoredTopics,
  type BlockStats,
  backupBlocks,
  backupLog,
  blobsBeside,
  blocksBeside,
  checkWal,
  copyDatabase,
  DataFolder,
  finishCopy,
  folderStats,
  makeFolders,
  type TopicReport,
  type TopicStats,
  topicFiles,
  topicsFolder,
  verifyFolder,
} from '../../store/index.ts'
import { onNodeOrFolder } from '../node-or-folder.ts'
import { type NamedNode, onNode } from '../on-node.ts'
import type { Result } from '../output.ts'
import { progressLine } from '../progress.ts'

/** Verifies the node database and every topic, byte by byte. Fails with a list of all damage. */
export async function verifyStore(folder: string): Promise<Result> {
  return withFolder(folder, (_, path) => {
    const progress = progressLine(systemClock)
    const { problems, reports } = endingProgress(() => verifyFolder(path, (text) => progress.update(text)), progress)
    if (problems.length > 0)
      throw new ShoalError(
        'ERR_INVALID_NODE_STATE',
        `The store is damaged.\n${problems.map((problem) => `\t${problem}`).join('\n')}`,
      )
    return { text: () => reports.map(verifyText).join('\n') || 'There are no events yet.', json: reports }
  })
}

function endingProgress<T>(work: () => T, progress: { end(): void }): T {
  try {
    return work()
  } finally {
    progress.end()
  }
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

/** Counts events and files of a node, which may be running or stopped. */
export async function storeStats(named: NamedNode): Promise<Result> {
  const stats = await onNode<readonly TopicStats[]>(named, systemRuntime, {
    running: (node) => node.request({ method: 'GET', path: '/store/stats', isLong: true }),
    stopped: async (folder) => withFolder(folder, (_, path) => folderStats(path)),
  })
  return { text: () => stats.map(statsText).join('\n') || 'There are no events yet.', json: stats }
}

function statsText(stats: TopicStats): string {
  const { topic, bytes, events, tailRows, segmentBytes, indexBytes, streams, files } = stats
  const perEvent = events > 0 ? `, ${(bytes / events).toFixed(1)} bytes an event` : ''
  const head = `topic '${topic}': ${events} events, ${bytes} bytes${perEvent} (segments ${segmentBytes}, index ${indexBytes}, ${tailRows} unsealed rows)`
  return [
    head,
    ...streams.map(
      ({ stream, events: count, pruned }) => `  ${stream}  ${count} events${pruned > 0 ? `, ${pruned} pruned` : ''}`,
    ),
    ...(files === null ? [] : [filesText(files)]),
  ].join('\n')
}

function filesText({ fileBytes, blocks, bytes, cachedBlocks, cachedBytes, names, uploads }: BlockStats): string {
  const cached = cachedBlocks > 0 ? `, of which ${cachedBlocks} with ${cachedBytes} bytes are cache` : ''
  return `  files: ${uploads} uploads, ${names} names, ${fileBytes} bytes (${blocks} blocks with ${bytes} bytes${cached})`
}

/** Backs up a stopped node to a new data folder. */
export async function backupStore(folder: string, target: string): Promise<Result> {
  const copy = resolve(target)
  return withFolder(folder, (files, path) => {
    try {
      makeFolders(topicsFolder(copy))
    } catch (error) {
      throw new ShoalError('ERR_IO', `cannot create \`${copy}\``, { cause: error })
    }
    for (const file of files) backupTopic(file, join(topicsFolder(copy), basename(file)))
    // The identity is copied last: no node can start on an incomplete backup.
    for (const name of ['node.db', 'shoal.json']) {
      copyFileSync(join(path, name), join(copy, name))
      finishCopy(join(copy, name))
    }
    return {
      text: () => `Copied ${files.length} topics, identity and settings to ${copy}.`,
      json: { target: copy, topics: files.length },
    }
  })
}

/** Backs up the events, blobs and files of a topic. */
function backupTopic(file: string, target: string): void {
  for (const database of [file, blobsBeside(file), blocksBeside(file)]) warnOfDamagedWal(database)
  backupLog(file, target, systemClock.now())
  if (existsSync(blobsBeside(file))) copyDatabase(blobsBeside(file), blobsBeside(target))
  if (existsSync(blocksBeside(file))) backupBlocks(blocksBeside(file), blocksBeside(target))
}

/** Warns of a damaged write-ahead log: SQLite ignores everything after the damage, so the backup lacks it. */
function warnOfDamagedWal(file: string): void {
  const damage = checkWal(file, { keep: true })
  if (damage !== undefined) process.stderr.write(`Warning: ${damage.text}\n`)
}

/**
 * Accepts a restored backup: its node continues its streams, even if other nodes have newer events of it. Does not lock
 * the data folder, since the node may be starting, and waiting for it.
 */
export async function acceptRestored(folder: string): Promise<Result> {
  const { accepted } = await onNodeOrFolder<{ accepted: number }>(folder, systemRuntime, {
    running: (node) => node.request({ method: 'POST', path: '/store/accept-restored' }),
    stopped: async () => ({ accepted: acceptRestoredTopics(resolve(folder)) }),
  })
  const text =
    accepted === 0
      ? 'There is nothing to accept: no topic is a restored backup whose streams are in doubt.'
      : `Accepted ${accepted} restored topics. A running node goes on publishing within a second.`
  return { text: () => text, json: { accepted } }
}

/** Works on the topic files of a data folder, locked against a running node. */
function withFolder<T>(folder: string, work: (files: string[], path: string) => T): T {
  const opened = DataFolder.open(folder, { create: false })
  try {
    return work(topicFiles(opened.path), opened.path)
  } finally {
    opened.close()
  }
}
