import { tuning } from '../base/tuning.ts'

let last: Promise<void> = Promise.resolve()

/**
 * Yields to the event loop before a large JSON text is parsed. One is parsed per iteration of the loop, so that many
 * that arrive together do not block it. Small texts do not wait.
 */
export async function parseTurn(bytes: number): Promise<void> {
  if (bytes <= tuning.parsedAtOnceBytes) return
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
  await last
}
