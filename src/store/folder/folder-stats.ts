import { existsSync } from 'node:fs'
import { type BlockStats, blockStats } from '../blocks/index.ts'
import { type LogStats, logStats } from '../sqlite/index.ts'
import { blocksBeside, topicFiles } from './topic-files.ts'

/** The statistics of a topic: its events, and its files if there are any. */
export type TopicStats = LogStats & { readonly files: BlockStats | null }

/** Counts the events and files of all topics of a data folder, and the space that they take. */
export function folderStats(path: string): TopicStats[] {
  return topicFiles(path).map((file) => {
    const blocks = blocksBeside(file)
    return { ...logStats(file), files: existsSync(blocks) ? blockStats(blocks) : null }
  })
}
