import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'

/**
 * The event database of a topic. Its file name has a readable part of the topic, and a hash that distinguishes topics
 * such as `a/b` and `a_b`.
 */
export function topicFile(folder: string, topic: string): string {
  const readable = topic.replace(/[^A-Za-z0-9.-]+/g, '_').slice(0, 40)
  const hash = createHash('sha256').update(topic).digest('hex').slice(0, 16)
  return join(topicsFolder(folder), `${readable}-${hash}.db`)
}

/** The blob database of a topic. */
export function blobFile(folder: string, topic: string): string {
  return blobsBeside(topicFile(folder, topic))
}

/** The block database of a topic. */
export function blockFile(folder: string, topic: string): string {
  return blocksBeside(topicFile(folder, topic))
}

export function blobsBeside(events: string): string {
  return events.replace(/\.db$/, '-blobs.db')
}

export function blocksBeside(events: string): string {
  return events.replace(/\.db$/, '-blocks.db')
}

/** The file with the slots for large blocks, beside the block database. */
export function slotsFile(blocks: string): string {
  return blocks.replace(/\.db$/, '.slots')
}

export function topicsFolder(folder: string): string {
  return join(folder, 'topics')
}

/** The event databases of all topics. */
export function topicFiles(folder: string): string[] {
  const topics = topicsFolder(folder)
  if (!existsSync(topics)) return []
  return readdirSync(topics)
    .filter((name) => name.endsWith('.db') && !/-(blobs|blocks)\.db$/.test(name))
    .sort()
    .map((name) => join(topics, name))
}

/** What follows the name of a topic in the names of its files, which begins after a hash. */
const afterTopic = /^(?:-blobs|-blocks)?\.(?:db|slots)(?:$|[-.])/

/** All files of a topic, its event database last. */
export function filesOfTopic(events: string): string[] {
  const folder = join(events, '..')
  if (!existsSync(folder)) return []
  const name = basename(events, '.db')
  const files = readdirSync(folder).filter((file) => file.startsWith(name) && afterTopic.test(file.slice(name.length)))
  const isEvents = (file: string): boolean => file === basename(events)
  return [...files.filter((file) => !isEvents(file)), ...files.filter(isEvents)].map((file) => join(folder, file))
}
