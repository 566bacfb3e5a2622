import { resolve } from 'node:path'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { acceptRestoredTopics, type BlockStats, folderStats, type TopicStats } from '../../store/index.ts'
import { inStoppedFolder } from '../client/node-or-folder.ts'
import { type NamedNode, onNode } from '../client/on-node.ts'
import type { Result } from '../output/output.ts'

/** Counts events and files of a node, which may be running or stopped. */
export async function storeStats(named: NamedNode): Promise<Result> {
  const stats = await onNode<readonly TopicStats[]>(named, systemRuntime, {
    running: (node) => node.request({ method: 'GET', path: '/store/stats', isLong: true }),
    stopped: async (folder) => inStoppedFolder(folder, folderStats),
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

/**
 * Accepts a restored backup: its node continues its streams, even if other nodes have newer events of it. Does not take
 * the lock of the data folder: a node that is starting has it, and may be waiting for this command.
 */
export async function acceptRestored(named: NamedNode): Promise<Result> {
  const { accepted } = await onNode<{ accepted: number }>(named, systemRuntime, {
    running: (node) => node.request({ method: 'POST', path: '/store/accept-restored' }),
    stopped: async (folder) => ({ accepted: acceptRestoredTopics(resolve(folder)) }),
  })
  const text =
    accepted === 0
      ? 'There is nothing to accept: no topic is a restored backup whose streams are in doubt.'
      : `Accepted ${accepted} restored topics. A running node goes on publishing within a second.`
  return { text: () => text, json: { accepted } }
}
