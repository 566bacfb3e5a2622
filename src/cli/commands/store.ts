import { chmodSync, copyFileSync, existsSync, mkdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { ShoalError } from '../../errors.ts'
import { nodeIdOf } from '../../identity/index.ts'
import {
  type BlockStats,
  type BlocksReport,
  backupBlocks,
  backupLog,
  blobsBeside,
  blockStats,
  blocksBeside,
  copyDatabase,
  DataFolder,
  type LogStats,
  logStats,
  NodeDatabase,
  topicFiles,
  topicsFolder,
  type VerifyReport,
  verifyBlocks,
  verifyLog,
} from '../../store/index.ts'
import { nowMicros } from '../../time.ts'
import type { Result } from '../output.ts'
import { progressLine } from '../progress.ts'

/** With what there is of files beside the events. */
type WithFiles<Events, Files> = Events & { readonly files: Files | null }

/** Reads every byte of every topic. Damage is a failure, with everything that was found. */
export async function verifyStore(folder: string): Promise<Result> {
  return withFolder(folder, (files, path) => {
    const reports = files.map((file) => verifyTopic(file, nodeIn(path)))
    const problems = reports.flatMap((report) =>
      [...report.problems, ...(report.files?.problems ?? [])].map((problem) => `topic '${report.topic}': ${problem}`),
    )
    if (problems.length > 0)
      throw new ShoalError(
        'ERR_INVALID_NODE_STATE',
        `The store is damaged.\n${problems.map((problem) => `\t${problem}`).join('\n')}`,
      )
    return { text: () => reports.map(verifyText).join('\n') || 'There are no events yet.', json: reports }
  })
}

function verifyTopic(file: string, node: string): WithFiles<VerifyReport, BlocksReport> {
  const progress = progressLine()
  const blocks = blocksBeside(file)
  try {
    return {
      ...verifyLog(file, (events) => progress.update(`${basename(file)}: ${events} events`)),
      files: existsSync(blocks)
        ? verifyBlocks(blocks, node, (count) => progress.update(`${basename(blocks)}: ${count} blocks`))
        : null,
    }
  } finally {
    progress.end()
  }
}

/** The node whose folder it is; nothing when it has never run. */
function nodeIn(path: string): string {
  const database = NodeDatabase.open(join(path, 'node.db'))
  try {
    return database.publicKey === undefined ? '' : nodeIdOf(database.publicKey)
  } finally {
    database.close()
  }
}

function verifyText(report: WithFiles<VerifyReport, BlocksReport>): string {
  const { topic, streams, events, segments, removedPayloads, files } = report
  const removed = removedPayloads > 0 ? `, ${removedPayloads} payloads removed` : ''
  const missing = files !== null && files.missing > 0 ? `, ${files.missing} others are not here` : ''
  return [
    `topic '${topic}': ${events} events in ${streams} streams and ${segments} segments${removed}: all as it was written`,
    ...(files === null ? [] : [`  ${files.blocks} blocks of files${missing}: all as it was written`]),
  ].join('\n')
}

export async function storeStats(folder: string): Promise<Result> {
  return withFolder(folder, (files) => {
    const stats = files.map((file) => {
      const blocks = blocksBeside(file)
      return { ...logStats(file), files: existsSync(blocks) ? blockStats(blocks) : null }
    })
    return { text: () => stats.map(statsText).join('\n') || 'There are no events yet.', json: stats }
  })
}

function statsText(stats: WithFiles<LogStats, BlockStats>): string {
  const { topic, bytes, events, tailRows, segmentBytes, indexBytes, streams, files } = stats
  const perEvent = events > 0 ? `, ${(bytes / events).toFixed(1)} bytes an event` : ''
  const head = `topic '${topic}': ${events} events, ${bytes} bytes${perEvent} (segments ${segmentBytes}, index ${indexBytes}, ${tailRows} rows not sealed)`
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

/** Copies everything of a stopped node into a new folder that a node can be started on. */
export async function backupStore(folder: string, target: string): Promise<Result> {
  const copy = resolve(target)
  return withFolder(folder, (files, path) => {
    try {
      mkdirSync(topicsFolder(copy), { recursive: true, mode: 0o700 })
    } catch (error) {
      throw new ShoalError('ERR_IO', `cannot create \`${copy}\``, { cause: error })
    }
    for (const file of files) backupTopic(file, join(topicsFolder(copy), basename(file)))
    // The identity last: a copy that was not finished is no node.
    for (const name of ['node.db', 'shoal.json']) {
      copyFileSync(join(path, name), join(copy, name))
      chmodSync(join(copy, name), 0o600)
    }
    return {
      text: () => `Copied ${files.length} topics, identity and settings to ${copy}.`,
      json: { target: copy, topics: files.length },
    }
  })
}

/** Copies the events of a topic, and what apps and files have beside them. */
function backupTopic(file: string, target: string): void {
  backupLog(file, target, nowMicros())
  if (existsSync(blobsBeside(file))) copyDatabase(blobsBeside(file), blobsBeside(target))
  if (existsSync(blocksBeside(file))) backupBlocks(blocksBeside(file), blocksBeside(target))
}

/** Works on the files of all topics while no node runs on the folder. */
function withFolder(folder: string, work: (files: string[], path: string) => Result): Result {
  const opened = DataFolder.open(folder, { create: false })
  try {
    return work(topicFiles(opened.path), opened.path)
  } finally {
    opened.close()
  }
}
