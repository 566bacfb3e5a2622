import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeSwarmKey } from '../../src/cli/commands/swarms.ts'
import { temporaryFolder } from '../support/folder.ts'

test('a swarm key is 32 new random bytes, printed or written for its owner', async (t) => {
  const folder = temporaryFolder(t)
  const printed = await makeSwarmKey(undefined)
  const key = await printed.text()
  assert.equal(Buffer.from(key, 'base64').length, 32)
  assert.deepEqual(printed.json, { swarmKey: key, outputPath: null })
  for (const [output, outputPath] of [
    [folder, join(folder, 'shoal-swarm.key')],
    [join(folder, 'a.key'), join(folder, 'a.key')],
  ] as const) {
    const written = await makeSwarmKey(output)
    assert.equal(await written.text(), `Key written to ${outputPath}`)
    const swarmKey = readFileSync(outputPath, 'utf8')
    assert.notEqual(swarmKey, key)
    assert.deepEqual(written.json, { swarmKey, outputPath })
    assert.equal(statSync(outputPath).mode & 0o777, 0o600)
    await assert.rejects(makeSwarmKey(output), { code: 'ERR_INVALID_INPUT', message: /already exists/ })
  }
  await assert.rejects(makeSwarmKey(join(folder, 'none', 'a.key')), { code: 'ERR_IO' })
})
