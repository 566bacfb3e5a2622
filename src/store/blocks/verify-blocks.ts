import { base32 } from 'multiformats/bases/base32'
import { messageOf } from '../../base/errors.ts'
import type { BlockUsage } from '../port/index.ts'
import { type OpenBlocks, withBlocks } from './offline-blocks.ts'

/** The result of verifying all blocks. */
export interface BlocksReport {
  readonly blocks: number
  readonly bytes: number
  /** Referenced blocks that never arrived, or were evicted before they were referenced. */
  readonly missing: number
  /** Damage that was found; empty if there is none. */
  readonly problems: readonly string[]
}

/**
 * Verifies all blocks of a stopped node: bytes against CIDs, reference counts, and that all uploads of this node are
 * complete.
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

/** Unreadable data is reported as a problem. */
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
    // The checks below read the same tables, and report the problem.
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
  const rows = database.prepare('PRAGMA integrity_check(20)').all()
  return rows.map((row) => String(row['integrity_check'])).filter((text) => text !== 'ok')
}

function bytesProblems({ database, blocks }: OpenBlocks, progress: (blocks: number) => void): string[] {
  const problems: string[] = []
  let count = 0
  // In disk order.
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
  const unlisted = number(
    opened,
    `SELECT count(*) FROM (SELECT id FROM block WHERE refs > 0 AND size IS NULL) FULL JOIN want ON id = want.block
      WHERE id IS NULL OR want.block IS NULL`,
  )
  return [
    ...(unlisted > 0 ? [`${unlisted} blocks are missing and not listed so, or listed and not missing`] : []),
    ...(wrong > 0 ? [`${wrong} blocks are not counted as often as they are held`] : []),
    ...(lost > 0 ? [`${lost} blocks that something holds are not known`] : []),
  ]
}

/** Uploads that were last set by an event of this node: their blocks were complete then, and referenced ever since. */
function uploadProblems({ database }: OpenBlocks, node: string): string[] {
  const uploads = database.prepare(
    // A copy by another node may claim the key of an event of this one.
    `SELECT key FROM register AS upload WHERE kind = 'upload' AND value IS NOT NULL AND substr(stream, 1, ?1) = ?2
      AND NOT EXISTS (SELECT 1 FROM register WHERE kind = 'upload copy' AND key = upload.key AND substr(stream, 1, ?1) <> ?2)`,
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
