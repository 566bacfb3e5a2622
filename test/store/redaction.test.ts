import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { LogWriter } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'
import * as fc from '../support/property.ts'

const streams = 3
/** Requests with few and with many events, for one or all streams, whose rows share pages or fill several. */
const requests = fc.array(
  fc.record({ count: fc.constantFrom(1, 3, 20, 100, 300), length: fc.nat(120), spread: fc.boolean() }),
  { minLength: 5, maxLength: 25 },
)

const reused = [
  { count: 300, length: 116, spread: true },
  { count: 20, length: 0, spread: false },
  { count: 20, length: 0, spread: false },
  { count: 20, length: 55, spread: false },
  { count: 300, length: 0, spread: false },
  { count: 300, length: 0, spread: false },
  { count: 3, length: 0, spread: false },
]

test('nothing of a redacted payload is left in the files, wherever its row was stored', (t) => {
  const folder = temporaryFolder(t)
  const key = KeyPair.generate(systemRandom)
  let stores = 0
  fc.assert(
    fc.property(requests, fc.array(fc.nat(), { minLength: 1, maxLength: 6 }), (requests, chosen) => {
      const file = join(folder, `${stores++}.db`)
      const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 0, random: systemRandom })
      const marks: { stream: number; offset: number; mark: string }[] = []
      const counts = new Array<number>(streams).fill(0)
      for (const [r, { count, length, spread }] of requests.entries()) {
        const of = Uint32Array.from({ length: count }, (_, i) => (spread ? i % streams : r % streams))
        const events = [...of].map((stream, i) => {
          const mark = `mark-${r}-${i}-`
          const offset = counts[stream] ?? 0
          counts[stream] = offset + 1
          marks.push({ stream, offset, mark })
          return { appId: 'com.example', tags: ['t'], payload: `"${mark}${'x'.repeat(length)}"` }
        })
        writer.append([{ ...packed(events), streams: of }])
      }
      for (const choice of chosen) {
        const found = marks[choice % marks.length]
        if (found === undefined) continue
        writer.redact(found.stream, found.offset)
        for (const part of [file, `${file}-wal`].filter(existsSync))
          assert.ok(!readFileSync(part, 'latin1').includes(found.mark), `${found.mark} in ${part}`)
      }
      writer.close()
    }),
    // A page that was freed and reused in one transaction: found after hundreds of other cases.
    { numRuns: 100, examples: [[reused, [284664010, 783158934, 0]]] },
  )
})
