import { copyFileSync, existsSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { ShoalError } from '../../base/errors.ts'
import { backupBlocks } from '../blocks/index.ts'
import { copyDatabase, finishCopy } from '../disk/copy-database.ts'
import { makeFolders } from '../disk/make-folders.ts'
import { backupLog } from '../sqlite/index.ts'
import type { FolderProgress } from './folder-progress.ts'
import { NodeDatabase } from './node-database.ts'
import { blobsBeside, blocksBeside, topicFiles, topicsFolder } from './topic-files.ts'

/**
 * Copies events, files and blobs of all topics into a new data folder; the node may be running, if freed slots of
 * blocks are not reused meanwhile. Returns the number of topics. `copyIdentity` makes a data folder of the copy.
 * @param now microseconds since the Unix epoch
 */
export function backupTopics(folder: string, target: string, now: number, progress: FolderProgress): number {
  try {
    makeFolders(topicsFolder(target))
  } catch (error) {
    throw new ShoalError('ERR_IO', `cannot create \`${target}\``, { cause: error })
  }
  const files = topicFiles(folder)
  const databases = files.flatMap((file) => [file, blobsBeside(file), blocksBeside(file)]).filter(existsSync)
  const all = databases.reduce((bytes, file) => bytes + statSync(file).size, 0)
  let done = 0
  const copied = (file: string, copy: (from: string, to: string) => void): void => {
    if (!existsSync(file)) return
    progress({ text: basename(file), done, all })
    copy(file, join(topicsFolder(target), basename(file)))
    done += statSync(file).size
  }
  for (const file of files) {
    copied(file, (from, to) => backupLog(from, to, now))
    copied(blobsBeside(file), copyDatabase)
    copied(blocksBeside(file), backupBlocks)
  }
  return files.length
}

/** Copies identity and settings. They come last: no node can start on an incomplete backup. */
export function copyIdentity(folder: string, target: string, node: NodeDatabase): void {
  node.copyTo(join(target, 'node.db'))
  const format = join(target, 'shoal.json')
  copyFileSync(join(folder, 'shoal.json'), format)
  finishCopy(format)
}

/** The same for a stopped node. */
export function copyStoppedIdentity(folder: string, target: string): void {
  const node = NodeDatabase.open(join(folder, 'node.db'))
  try {
    copyIdentity(folder, target, node)
  } finally {
    node.close()
  }
}
