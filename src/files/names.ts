import { limits } from '../base/limits.ts'
import { parseCid } from './unixfs/index.ts'

/** Path segments below `/api/v2/files` with another meaning. */
const reserved = new Set(['prefetch', 'remove', '.', '..'])

/** Whether this is a valid name: one path segment that browsers do not interpret in another way. */
export function isName(text: string): boolean {
  if (text === '' || reserved.has(text) || Buffer.byteLength(text) > limits.fileNameBytes) return false
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are searched for
  return text.isWellFormed() && !/[\x00-\x1f\x7f/\\<>"?#]/.test(text) && parseCid(text) === undefined
}
