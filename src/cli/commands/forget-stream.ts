import { existsSync } from 'node:fs'
import { formatStreamId, publicKeyOf, type StreamId } from '../../identity/index.ts'
import { systemRuntime } from '../../runtime/system-runtime.ts'
import { Settings } from '../../settings/index.ts'
import { DataFolder, NodeDatabase, SqliteEventStore, topicFile } from '../../store/index.ts'
import { type NamedNode, nodeArgument, onNode } from '../client/on-node.ts'
import type { Result } from '../output/output.ts'

interface Forgotten {
  readonly stream: string
  readonly forgotten: boolean
}

/** Removes the events of a stream of another node, from a node that may be running or stopped. */
export async function forgetStream(named: NamedNode, stream: StreamId): Promise<Result> {
  const id = formatStreamId(stream)
  const check = `shoal store stats ${nodeArgument(named)}`
  const { forgotten } = await onNode<Forgotten>(named, systemRuntime, {
    running: (node) =>
      node.request({ method: 'POST', path: '/store/forget-stream', body: { stream: id }, isLong: true, check }),
    stopped: async (folder) => ({ stream: id, forgotten: await forgetInFolder(folder, stream) }),
  })
  const text = forgotten
    ? `Removed all events of the stream ${id}. They come back if another node of the swarm has them.`
    : `There is no stream ${id} in the topic of this node: nothing was removed. \`${check}\` lists the streams.`
  return { text: () => text, json: { stream: id, forgotten } }
}

async function forgetInFolder(folder: string, { node, number }: StreamId): Promise<boolean> {
  const opened = DataFolder.open(folder, { create: false })
  try {
    const database = NodeDatabase.open(opened.nodeDatabase)
    try {
      const { key } = database
      const { topic } = (await Settings.open(database.settings, systemRuntime.clock)).document.swarm
      const file = topicFile(opened.path, topic)
      if (key === undefined || !existsSync(file) || number > BigInt(Number.MAX_SAFE_INTEGER)) return false
      const store = await SqliteEventStore.open({ runtime: systemRuntime, file, topic, kind: 'live', key })
      try {
        return await store.forgetStream({ node: publicKeyOf(node), number: Number(number) })
      } finally {
        await store.close()
      }
    } finally {
      database.close()
    }
  } finally {
    opened.close()
  }
}
