import assert from 'node:assert/strict'
import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { StatementSync } from 'node:sqlite'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { heads } from '../../src/protocol/index.ts'
import { systemRandom } from '../../src/runtime/random.ts'
import type { AppendRequest } from '../../src/store/port/index.ts'
import { LogWriter, verifyLog } from '../../src/store/sqlite/index.ts'
import { packed } from '../support/events.ts'
import { temporaryFolder } from '../support/folder.ts'

const key = new KeyPair(Buffer.alloc(32, 5))

function requestOf(count: number, stream = 0): AppendRequest {
  const events = Array.from({ length: count }, (_, i) => ({ appId: 'a', tags: ['x'], payload: String(i) }))
  return { ...packed(events), streams: new Uint32Array(count).fill(stream) }
}

/** An I/O error, after which the file is missing for a while. */
const refused = Object.assign(new Error('disk I/O error'), { errcode: 10 })

const chunk = format.eventsPerCheckpoint

for (const { what, before, failing, stream } of [
  { what: 'that ends a chunk', before: chunk - 4, failing: 10, stream: 0 },
  { what: 'of a single row', before: chunk - 14, failing: 1, stream: 0 },
  { what: 'that creates a stream', before: 10, failing: 1, stream: 7 },
])
  test(`after a failed commit ${what} and a failed reopen, the writer continues from the state on disk`, (t) => {
    const folder = join(temporaryFolder(t), 'log')
    mkdirSync(folder)
    const file = join(folder, 'log.db')
    const options = { file, topic: 't', kind: 'live', key, now: () => 1, random: systemRandom } as const
    const writer = new LogWriter(options)
    for (let left = before; left > 0; left -= 100) writer.append([requestOf(Math.min(100, left))])
    const { run } = StatementSync.prototype
    const mock = t.mock.method(StatementSync.prototype, 'run', function (this: StatementSync, ...args: never[]) {
      // A single row has no explicit transaction: there, the insert fails.
      const { sourceSQL } = this
      if (sourceSQL !== 'COMMIT' && (stream > 0 || failing > 1 || !sourceSQL.startsWith('INSERT INTO tail')))
        return run.apply(this, args as never)
      renameSync(folder, `${folder}-away`)
      throw refused
    })
    assert.throws(() => writer.append([requestOf(failing, stream)]), { code: 'ERR_STORAGE' })
    assert.equal(mock.mock.calls.at(-1)?.error, refused)
    mock.mock.restore()
    assert.throws(() => writer.append([requestOf(1, stream)]), { code: 'ERR_STORAGE' })
    assert.throws(() => writer.head(0), { code: 'ERR_STORAGE' }, 'events that are not on disk are never signed')
    assert.throws(() => writer.ownHeads(), { code: 'ERR_STORAGE' })
    renameSync(`${folder}-away`, folder)
    assert.equal(heads.verify(writer.head(0) as Uint8Array).count, before)
    assert.deepEqual(
      writer.ownHeads().map(({ head }) => heads.verify(head).count),
      [before],
    )
    const next = stream === 0 ? before : 0
    assert.deepEqual(writer.append([requestOf(failing, stream)])[0]?.runs, [{ stream, offset: next, count: failing }])
    for (let i = 0; i < 20; i++) writer.append([requestOf(1, stream)])
    writer.close()
    const reopened = new LogWriter(options)
    const [appended] = reopened.append([requestOf(1, stream)])
    assert.deepEqual(appended?.runs, [{ stream, offset: next + failing + 20, count: 1 }])
    reopened.close()
    assert.deepEqual(verifyLog(file).problems, [])
  })
