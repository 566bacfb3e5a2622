import { limits } from '../base/limits.ts'
import { parseCid } from './unixfs/index.ts'

/** Addresses below `/api/v2/files` that mean something else. */
const taken = new Set(['prefetch', 'remove', '.', '..'])

/** Whether files can be given this name: one part of a path that no browser takes for something else. */
export function isName(text: string): boolean {
  if (text === '' || taken.has(text) || Buffer.byteLength(text) > limits.fileNameBytes) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.isWellFormed() && !/[\x00-\x1f\x7f/\\<>"?#]/.test(text) && parseCid(text) === undefined
}
