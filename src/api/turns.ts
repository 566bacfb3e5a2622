import { tuning } from '../base/tuning.ts'

let last: Promise<void> = Promise.resolve()

/**
 * Waits for the turn of a JSON text that takes long to parse: one is parsed per turn of the event loop, so that many that came
 * together do not hold up everything else. A short one has its turn at once.
 */
export async function parseTurn(bytes: number): Promise<void> {
  if (bytes <= tuning.parsedAtOnceBytes) return
  last = last.then(() => new Promise((resolve) => setImmediate(resolve)))
  await last
}
