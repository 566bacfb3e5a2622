import { deepEqual, equal, ok } from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { finish } from '../../src/aql/index.ts'
import { makeQueryJob } from '../../src/events/query/query-job.ts'
import { samplesOf } from '../../src/events/query/samples.ts'
import { makeSubscribeJob } from '../../src/events/query/subscribe-job.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { LogReader, LogWriter } from '../../src/store/log/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'

const makers = { query: makeQueryJob, subscribe: makeSubscribeJob }

test('samples of queries read a little of one stream, however many there are, and are left where they are', (t) => {
  const file = join(temporaryFolder(t), 'log.db')
  const key = KeyPair.generate()
  const writer = new LogWriter({ file, topic: 't', kind: 'live', key, now: () => 1 })
  const reader = new LogReader(file, writer.counts, key.publicKey)
  t.after(() => {
    reader.close()
    writer.close()
  })
  deepEqual(samplesOf(reader), [], 'there is nothing to read')
  const large = [{ appId: 'app', tags: ['t'], payload: `"${'x'.repeat(2 ** 20)}"` }]
  writer.append([{ ...packed(large), streams: new Uint32Array(1) }])
  deepEqual(samplesOf(reader), [], 'there are only large events')
  const [streams, events] = [20, 300]
  for (let stream = 1; stream <= streams; stream++) {
    const appended = Array.from({ length: events }, (_, i) => ({
      appId: 'app',
      tags: ['t'],
      payload: `{"value":${i}}`,
    }))
    writer.append([{ ...packed(appended), streams: new Uint32Array(events).fill(stream) }])
  }
  const blocksRead = new Set<number>()
  const block = reader.block.bind(reader)
  reader.block = (stream, offset, step) => {
    blocksRead.add(stream)
    return block(stream, offset, step)
  }
  const samples = samplesOf(reader)
  equal(samples.length, 3)
  for (const { name, request } of samples) {
    const job = finish(makers[name as keyof typeof makers](reader, request))
    equal(job.run(performance.now()), name === 'query' ? 'busy' : 'waiting')
    ok(job.take().length < 64 * 1024)
  }
  equal(blocksRead.size, 2, 'the stream of large events was looked at, and one more')
})
