import { acceptBackup, isUnacceptedBackup } from '../sqlite/index.ts'
import { topicFiles } from './topic-files.ts'

/**
 * Accepts all restored backups of a data folder, which may be in use: their node continues its streams, even if other
 * nodes have newer events of it. Returns how many topics were accepted.
 */
export function acceptRestoredTopics(path: string): number {
  const restored = topicFiles(path).filter((file) => isUnacceptedBackup(file))
  for (const file of restored) acceptBackup(file)
  return restored.length
}
