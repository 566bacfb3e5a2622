import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Where the events of a topic are. The name of a topic can be anything, the name of a file cannot: a readable part of
 * it, and a hash that keeps `a/b` and `a_b` apart.
 */
export function topicFile(folder: string, topic: string): string {
  const readable = topic.replace(/[^A-Za-z0-9.-]+/g, '_').slice(0, 40)
  const hash = createHash('sha256').update(topic).digest('hex').slice(0, 16)
  return join(topicsFolder(folder), `${readable}-${hash}.db`)
}

/** Where apps keep their blobs beside the events of a topic. */
export function blobFile(folder: string, topic: string): string {
  return blobsBeside(topicFile(folder, topic))
}

/** Where the blocks of files are. */
export function blockFile(folder: string, topic: string): string {
  return blocksBeside(topicFile(folder, topic))
}

export function blobsBeside(events: string): string {
  return events.replace(/\.db$/, '-blobs.db')
}

export function blocksBeside(events: string): string {
  return events.replace(/\.db$/, '-blocks.db')
}

/** Where the bytes of large blocks are, beside the database with the blocks. */
export function slotsFile(blocks: string): string {
  return blocks.replace(/\.db$/, '.slots')
}

export function topicsFolder(folder: string): string {
  return join(folder, 'topics')
}

/** The files of all topics. */
export function topicFiles(folder: string): string[] {
  const topics = topicsFolder(folder)
  if (!existsSync(topics)) return []
  return readdirSync(topics)
    .filter((name) => name.endsWith('.db') && !/-(blobs|blocks)\.db$/.test(name))
    .sort()
    .map((name) => join(topics, name))
}
