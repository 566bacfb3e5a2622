import { base32 } from 'multiformats/bases/base32'
import { messageOf } from '../../base/errors.ts'
import type { BlockUsage } from '../port/index.ts'
import { type OpenBlocks, withBlocks } from './upkeep.ts'

/** What reading every block has shown. */
export interface BlocksReport {
  readonly blocks: number
  readonly bytes: number
  /** Blocks that something holds and that have never come, or have gone before it held them. */
  readonly missing: number
  /** What is not as it was written; nothing when all is well. */
  readonly problems: readonly string[]
}

/**
 * Reads every block of a stopped node: its bytes are what its identifier says, it is counted as often as it is held, and
 * everything that this node has uploaded is complete.
 */
export function verifyBlocks(file: string, node: string, progress: (blocks: number) => void = () => {}): BlocksReport {
  return withBlocks(file, (opened) => {
    const { blocks, bytes } = attempt<Pick<BlockUsage, 'blocks' | 'bytes'>>(() => opened.blocks.usage(), {
      blocks: 0,
      bytes: 0,
    })
    const missing = attempt(() => number(opened, 'SELECT count(*) FROM block WHERE refs > 0 AND size IS NULL'), 0)
    const checks = [
      () => databaseProblems(opened),
      () => bytesProblems(opened, progress),
      () => countProblems(opened),
      () => registerProblems(opened),
      () => uploadProblems(opened, node),
    ]
    return { blocks, bytes, missing, problems: checks.flatMap(problemsOf) }
  })
}

/** What cannot be read is one of the problems. */
function problemsOf(check: () => string[]): string[] {
  try {
    return check()
  } catch (error) {
    return [`files: ${messageOf(error)}`]
  }
}

function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work()
  } catch {
    // The checks that follow read the same tables, and list it as a problem.
    return otherwise
  }
}

function registerProblems({ registers }: OpenBlocks): string[] {
  registers.check()
  return []
}

function number({ database }: OpenBlocks, sql: string): number {
  return Number(Object.values(database.prepare(sql).get() ?? {})[0])
}

function databaseProblems({ database }: OpenBlocks): string[] {
  const answers = database.prepare('PRAGMA integrity_check(20)').all()
  return answers.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok')
}

function bytesProblems({ database, blocks }: OpenBlocks, progress: (blocks: number) => void): string[] {
  const problems: string[] = []
  let count = 0
  // In the order of the disk.
  for (const row of database
    .prepare('SELECT cid, size FROM block WHERE size IS NOT NULL ORDER BY slot, id')
    .iterate()) {
    const cid = row['cid'] as Uint8Array
    try {
      if (blocks.get(cid)?.length !== row['size']) problems.push(`the block ${base32.encode(cid)} has another size`)
    } catch (error) {
      problems.push(`the block ${base32.encode(cid)}: ${messageOf(error)}`)
    }
    progress(++count)
  }
  return problems
}

function countProblems(opened: OpenBlocks): string[] {
  const wrong = number(
    opened,
    `SELECT count(*) FROM block WHERE refs <> (SELECT count(*) FROM pin WHERE block = block.id)
      + (SELECT count(*) FROM link JOIN block AS above ON above.id = parent WHERE child = block.id AND above.refs > 0)`,
  )
  const lost = number(
    opened,
    `SELECT (SELECT count(*) FROM pin WHERE block NOT IN (SELECT id FROM block))
      + (SELECT count(*) FROM link WHERE child NOT IN (SELECT id FROM block))`,
  )
  return [
    ...(wrong > 0 ? [`${wrong} blocks are not counted as often as they are held`] : []),
    ...(lost > 0 ? [`${lost} blocks that something holds are not known`] : []),
  ]
}

/** The last word on an upload is an event of this node: everything was here then, and was held ever since. */
function uploadProblems({ database }: OpenBlocks, node: string): string[] {
  const uploads = database.prepare(
    "SELECT key FROM register WHERE kind = 'upload' AND value IS NOT NULL AND substr(stream, 1, ?) = ?",
  )
  const missing = database.prepare(`
    WITH RECURSIVE tree(id) AS
      (SELECT id FROM block WHERE cid = ? UNION SELECT child FROM link JOIN tree ON parent = tree.id)
    SELECT count(*) AS blocks, sum(size IS NULL) AS missing FROM tree JOIN block USING (id)`)
  return uploads.all(node.length + 1, `${node}-`).flatMap((row) => {
    const cid = String(row['key'])
    const found = missing.get(base32.decode(cid))
    if (found?.['blocks'] === 0) return [`the upload ${cid} is gone`]
    return Number(found?.['missing']) > 0 ? [`the upload ${cid} lacks ${Number(found?.['missing'])} blocks`] : []
  })
}
