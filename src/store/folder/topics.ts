import { rmSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { systemCode } from '../../base/errors.ts'
import { logMeta } from '../sqlite/index.ts'
import { filesOfTopic, topicFile, topicFiles } from './topic-files.ts'

/** The topics of a data folder, with the bytes of all their files. The open one is not opened again for its name. */
export function topicSizes(folder: string, open: string | undefined): Record<string, number> {
  const openFile = open === undefined ? undefined : topicFile(folder, open)
  const topics = topicFiles(folder).map((file): [string, number] => {
    const name = file === openFile && open !== undefined ? open : nameOf(file)
    return [name, filesOfTopic(file).reduce((bytes, part) => bytes + sizeOf(part), 0)]
  })
  return Object.fromEntries(topics)
}

/** Deletes the files of a topic that is not open. Returns whether there were any. */
export function deleteTopic(folder: string, topic: string): boolean {
  const files = filesOfTopic(topicFile(folder, topic))
  for (const file of files) rmSync(file, { force: true })
  return files.length > 0
}

/** The name of a topic; that of its file when it is damaged. */
function nameOf(file: string): string {
  try {
    return logMeta(file).topic
  } catch {
    return basename(file)
  }
}

/** Files of SQLite come and go. */
function sizeOf(file: string): number {
  try {
    return statSync(file).size
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return 0
    throw error
  }
}
