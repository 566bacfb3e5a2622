import { readFileSync } from 'node:fs'
import { ShoalError } from '../base/errors.ts'

/** Reads a file; `-` is stdin. */
export function readSource(file: string): string {
  try {
    // By file descriptor: `process.stdin` makes stdin non-blocking, so that reading a slow pipe fails with EAGAIN.
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `cannot read ${file === '-' ? 'the standard input' : `\`${file}\``}`, {
      cause: error,
    })
  }
}

/** The text of an argument; `@file` and `@-` read it from a file or from stdin. */
export function textArgument(argument: string): string {
  return argument.startsWith('@') ? readSource(argument.slice(1)) : argument
}
