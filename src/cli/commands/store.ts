import { chmodSync, copyFileSync, mkdirSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { ShoalError } from '../../errors.ts'
import {
  backupLog,
  DataFolder,
  type LogStats,
  logStats,
  topicFiles,
  topicsFolder,
  type VerifyReport,
  verifyLog,
} from '../../store/index.ts'
import { nowMicros } from '../../time.ts'
import type { Result } from '../output.ts'
import { progressLine } from '../progress.ts'

/** Reads every byte of every topic. Damage is a failure, with everything that was found. */
export async function verifyStore(folder: string): Promise<Result> {
  return withFolder(folder, (files) => {
    const reports = files.map((file) => {
      const progress = progressLine()
      try {
        return verifyLog(file, (events) => progress.update(`${basename(file)}: ${events} events`))
      } finally {
        progress.end()
      }
    })
    const problems = reports.flatMap((report) =>
      report.problems.map((problem) => `topic '${report.topic}': ${problem}`),
    )
    if (problems.length > 0)
      throw new ShoalError(
        'ERR_INVALID_NODE_STATE',
        `The store is damaged.\n${problems.map((problem) => `\t${problem}`).join('\n')}`,
      )
    return { text: () => reports.map(verifyText).join('\n') || 'There are no events yet.', json: reports }
  })
}

function verifyText({ topic, streams, events, segments, removedPayloads }: VerifyReport): string {
  const removed = removedPayloads > 0 ? `, ${removedPayloads} payloads removed` : ''
  return `topic '${topic}': ${events} events in ${streams} streams and ${segments} segments${removed}: all as it was written`
}

export async function storeStats(folder: string): Promise<Result> {
  return withFolder(folder, (files) => {
    const stats = files.map(logStats)
    return { text: () => stats.map(statsText).join('\n') || 'There are no events yet.', json: stats }
  })
}

function statsText({ topic, bytes, events, tailRows, segmentBytes, indexBytes, streams }: LogStats): string {
  const perEvent = events > 0 ? `, ${(bytes / events).toFixed(1)} bytes an event` : ''
  const head = `topic '${topic}': ${events} events, ${bytes} bytes${perEvent} (segments ${segmentBytes}, index ${indexBytes}, ${tailRows} rows not sealed)`
  return [
    head,
    ...streams.map(
      ({ stream, events: count, pruned }) => `  ${stream}  ${count} events${pruned > 0 ? `, ${pruned} pruned` : ''}`,
    ),
  ].join('\n')
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
    for (const file of files) backupLog(file, join(topicsFolder(copy), basename(file)), nowMicros())
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

/** Works on the files of all topics while no node runs on the folder. */
function withFolder(folder: string, work: (files: string[], path: string) => Result): Result {
  const opened = DataFolder.open(folder, { create: false })
  try {
    return work(topicFiles(opened.path), opened.path)
  } finally {
    opened.close()
  }
}
