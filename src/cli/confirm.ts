import { createInterface } from 'node:readline/promises'
import { ShoalError } from '../base/errors.ts'

/** Asks for a word on a terminal; elsewhere the option --yes has to say it. */
export async function confirm(effect: string, word: string): Promise<void> {
  if (process.stdin.isTTY !== true) throw new ShoalError('ERR_INVALID_INPUT', `${effect} Confirm it with --yes.`)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const answer = await terminal.question(`${effect}\nType ${word} to go on: `)
    if (answer.trim() !== word) throw new ShoalError('ERR_INVALID_INPUT', 'Not confirmed: nothing was changed.')
  } finally {
    terminal.close()
  }
}
