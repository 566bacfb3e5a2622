import { readFileSync } from 'node:fs'
import { ShoalError } from '../base/errors.ts'

/** The text of a file; `-` is the standard input. */
export function readSource(file: string): string {
  try {
    // By its number: touching process.stdin would make reading a slow pipe fail.
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `cannot read ${file === '-' ? 'the standard input' : `\`${file}\``}`, {
      cause: error,
    })
  }
}
