import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { publicSwarmKey } from '../../../src/settings/index.ts'
import { endFrame, lengthPrefix } from '../../../src/swarm/host/frames.ts'
import { sessionCloseCodes } from '../../../src/swarm/host/index.ts'
import { serviceName } from '../../../src/swarm/host/mdns/service-name.ts'
import { decodeOpening, encodeOpening } from '../../../src/swarm/host/opening.ts'

/** The test vector of docs/protocol.md. */
function documented(): Record<string, string> {
  const text = readFileSync(new URL('../../../docs/protocol.md', import.meta.url), 'utf8')
  const [, json = ''] = /```json\n(\{\n {2}"swarmKey"[^`]*)```/.exec(text) ?? []
  return JSON.parse(json) as Record<string, string>
}

test('the opening and the last frame are those of the documentation', () => {
  const { topic = '', openingFrame = '', lastFrame } = documented()
  const opening = encodeOpening({ topic })
  assert.equal(Buffer.concat([lengthPrefix(opening.length), opening]).toString('hex'), openingFrame)
  assert.deepEqual(decodeOpening(Buffer.concat([opening, Buffer.from('a later field')])), { topic })
  assert.equal(endFrame(sessionCloseCodes.double).toString('hex'), lastFrame)
})

test('every close code is used once', () => {
  const codes = Object.values(sessionCloseCodes)
  assert.equal(new Set(codes).size, codes.length)
  for (const code of codes) assert.ok(code > 0 && code < 256)
})

test('the service name of the default swarm is that of the documentation', () => {
  const { topic = '', defaultService } = documented()
  assert.equal(serviceName(Buffer.from(publicSwarmKey, 'base64'), topic), defaultService)
})
