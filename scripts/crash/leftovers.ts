import { existsSync, readFileSync } from 'node:fs'
import { marks } from './contents.ts'

const suffixes = ['', '-wal', '-journal'] as const

/** The markers of all payloads whose bytes are anywhere in the files of a store. */
export function findLeftovers(file: string): Set<string> {
  const found = suffixes.flatMap((suffix) => {
    const path = `${file}${suffix}`
    return existsSync(path) ? (readFileSync(path, 'latin1').match(marks) ?? []) : []
  })
  return new Set(found)
}
