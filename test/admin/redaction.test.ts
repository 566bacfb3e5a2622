import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { limits } from '../../src/base/limits.ts'
import { control } from '../support/control.ts'
import { temporaryFolder } from '../support/folder.ts'
import { addForeignStream } from '../support/foreign-stream.ts'
import { startBareNode } from '../support/node.ts'

test('events are redacted by request; malformed requests and streams of other nodes are refused', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const foreign = await addForeignStream(t, folder)
  const { node } = await startBareNode(t, { folder })
  const redact = (body: unknown) => control(folder, 'POST', '/events/redact', { body: JSON.stringify(body) })
  const published = await control(folder, 'POST', '/events/publish', {
    body: JSON.stringify({ data: [1, 2, 3].map((payload) => ({ tags: ['t'], payload })) }),
  })
  const [{ stream, offset }] = published.body.data as [{ stream: string; offset: number }]
  const none = { redacted: [], alreadyRedacted: [], pruned: [], unknown: [], facts: [] }
  const offsets = [offset, offset + 2, offset + 1000]
  assert.deepEqual((await redact({ stream, offsets })).body, {
    stream,
    ...none,
    redacted: [offset, offset + 2],
    unknown: [offset + 1000],
  })
  const refused = await redact({ stream: foreign, offsets: [0] })
  assert.equal(refused.status, 400)
  assert.match(refused.body.message, new RegExp(`only that node can redact its events. This is the node ${node.id}.$`))
  const bad: readonly [unknown, RegExp][] = [
    [{}, /lacks `stream`/],
    [{ stream }, /lacks `offsets`/],
    [{ stream: 7, offsets: [1] }, /stream: not a string/],
    [{ stream: `${stream}x`, offsets: [1] }, /not a stream ID/],
    ...[[], 7, '1', [-1], [1.5], ['1'], [2 ** 53], [null], new Array(limits.redactedPerRequest + 1).fill(0)].map(
      (given): [unknown, RegExp] => [
        { stream, offsets: given },
        /^offsets: not allowed. Allowed: a list of 1 to 1024 /,
      ],
    ),
  ]
  for (const [body, message] of bad) {
    const answer = await redact(body)
    assert.deepEqual([answer.status, answer.body.code], [400, 'ERR_INVALID_INPUT'], JSON.stringify(body))
    assert.match(answer.body.message, message)
  }
})
