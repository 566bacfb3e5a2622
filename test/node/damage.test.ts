import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolders } from '../../scripts/damage/data-folder.ts'
import { socketText } from '../../src/listening/listen.ts'
import { topicFile } from '../../src/store/index.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startBareNode } from '../support/node.ts'

test('a node with a damaged write-ahead log starts and reports the lost events', async (t) => {
  const { killed } = await makeFolders(join(temporaryFolder(t)))
  const wal = `${topicFile(killed, 'damage')}-wal`
  const bytes = readFileSync(wal)
  // In the page of the second WAL frame.
  const at = 32 + 24 + 4096 + 24 + 4000
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(wal, bytes)
  const { node, log } = await startBareNode(t, { folder: killed })
  const errors = log.filter((line) => / ERROR .*store: /.test(line))
  assert.match(errors.join(''), /The write-ahead log `.*-wal` is damaged at frame 2: at least \d+ commits .* are lost/)
  assert.match(errors.join(''), /\d+ of \d+ events that had been stored are missing/)
  assert.deepEqual(readFileSync(`${wal}.damaged`), bytes)
  const [address] = node.addresses.api
  assert.ok(address)
  const ready = await fetch(`http://${socketText(address)}/readyz`)
  assert.equal(ready.status, 503)
  const { reasons } = (await ready.json()) as { reasons: { component: string; detail: string }[] }
  assert.deepEqual(
    reasons.map(({ component }) => component),
    ['Store'],
  )
  assert.match(reasons[0]?.detail ?? '', /are missing|are lost/)
  assert.match(
    await (await fetch(`http://${socketText(address)}/metrics`)).text(),
    /shoal_store_damage_total\{[^}]*\} 2/,
  )
})

test('a node that was killed reports no damage', async (t) => {
  const { killed } = await makeFolders(join(temporaryFolder(t)))
  const { log } = await startBareNode(t, { folder: killed })
  assert.deepEqual(
    log.filter((line) => / (ERROR|WARN) .*store: /.test(line)),
    [],
  )
})
