// `query-process.ts FILE PRIVATE-KEY QUERY ORDER RESULTS`: opens a store in its own process and runs a query several
// times, as the node does. Prints the times and the memory of the process afterwards.
import { type QueryRequest, readerModule } from '../../src/events/index.ts'
import { parsePrivateKey } from '../../src/identity/index.ts'
import { median } from '../start/statistics.ts'
import { timeAsync } from '../store/measure.ts'
import { openStore } from '../store/workspace.ts'

export interface QueryResult {
  readonly openMs: number
  readonly firstMs: number
  /** The median of the later ones. */
  readonly repeatedMs: number
  readonly rssMb: number
}

const most = 100
const mostMs = 2000
const newline = 0x0a

const [file = '', privateKey = '', query = '', order = '', results = ''] = process.argv.slice(2)
const start = performance.now()
const store = await openStore({ file, key: parsePrivateKey(privateKey) }, { readerModule })
const openMs = performance.now() - start

async function run(): Promise<void> {
  const request: QueryRequest = {
    query,
    appId: 'com.example.bench',
    via: 'http',
    order: order as QueryRequest['order'],
    lowerBound: {},
    upperBound: undefined,
  }
  const reading = store.start('query', request)
  await reading.started
  let lines = 0
  for await (const piece of reading) for (const byte of piece) if (byte === newline) lines++
  // The last line has the offsets.
  if (lines - 1 !== Number(results)) throw new Error(`${query}: ${lines - 1} results instead of ${results}`)
}

const firstMs = await timeAsync(run)
const repeated: number[] = []
const end = performance.now() + mostMs
while (repeated.length < 3 || (repeated.length < most && performance.now() < end)) repeated.push(await timeAsync(run))
const rssMb = process.memoryUsage().rss / 2 ** 20
console.log(JSON.stringify({ openMs, firstMs, repeatedMs: median(repeated), rssMb } satisfies QueryResult))
await store.close()
