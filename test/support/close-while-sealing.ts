// A program: appends enough for several seals to stores in the given folder, and closes each while seals are built.
import { join } from 'node:path'
import { KeyPair } from '../../src/identity/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'
import { SqliteEventStore } from '../../src/store/index.ts'
import { packed } from './events.ts'

const [folder = '.'] = process.argv.slice(2)
const key = KeyPair.generate(systemRandom)
const events = Array.from({ length: 1500 }, (_, i) => ({ appId: 'a', tags: [`t${i}`], payload: `{"i":${i}}` }))
const request = { ...packed(events), streams: new Uint32Array(events.length) }
for (let round = 0; round < 8; round++) {
  const file = join(folder, `log-${round}.db`)
  const store = await SqliteEventStore.open({ runtime: systemRuntime, file, topic: 't', kind: 'live', key })
  for (let i = 0; i < 24 + round; i++) await store.append(request)
  await store.close()
}
