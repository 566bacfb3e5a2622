import { readFileSync } from 'node:fs'
import { ShoalError } from '../base/errors.ts'

/** Reads a file; `-` is stdin. */
export function readSource(file: string): string {
  try {
    // By file descriptor: process.stdin would make stdin non-blocking, and reading a slow pipe fail with EAGAIN.
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw new ShoalError('ERR_INVALID_INPUT', `cannot read ${file === '-' ? 'the standard input' : `\`${file}\``}`, {
      cause: error,
    })
  }
}

/** Text of an argument; `@file` and `@-` read it. */
export function textArgument(argument: string): string {
  return argument.startsWith('@') ? readSource(argument.slice(1)) : argument
}
