// Opens a store in its own process. Prints the time and the memory of the process afterwards.
import { parsePrivateKey } from '../../src/identity/index.ts'
import { timeAsync } from './measure.ts'
import { openStore } from './workspace.ts'

export interface OpenResult {
  readonly ms: number
  readonly rssMb: number
}

const [file = '', privateKey = ''] = process.argv.slice(2)
const opened = { file, key: parsePrivateKey(privateKey) }
let store: Awaited<ReturnType<typeof openStore>> | undefined
const ms = await timeAsync(async () => {
  store = await openStore(opened)
})
console.log(JSON.stringify({ ms, rssMb: process.memoryUsage().rss / 2 ** 20 } satisfies OpenResult))
await store?.close()
