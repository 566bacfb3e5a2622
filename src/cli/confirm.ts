import { createInterface } from 'node:readline/promises'
import { ShoalError } from '../base/errors.ts'

/** Asks for a typed word as confirmation. Throws if it differs, and without a terminal, where --yes is needed. */
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
