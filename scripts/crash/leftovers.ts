import { existsSync, readFileSync } from 'node:fs'
import { marks } from './contents.ts'

const suffixes = ['', '-wal', '-journal'] as const

/** The marks of the payloads whose bytes can be read in the files of a store, wherever they stand in them. */
export function findLeftovers(file: string): Set<string> {
  const found = suffixes.flatMap((suffix) => {
    const path = `${file}${suffix}`
    return existsSync(path) ? (readFileSync(path, 'latin1').match(marks) ?? []) : []
  })
  return new Set(found)
}
