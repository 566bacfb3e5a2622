import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { errorOf } from '../../src/cli/client/api-client.ts'
import { errorJson, resultJson, withCauses, write } from '../../src/cli/output/output.ts'
import { table } from '../../src/cli/output/table.ts'
import * as fc from '../support/property.ts'

const nasty = fc.string({
  unit: fc.constantFrom('a', 'ü', '"', '\\', '\n', '\t', '\r', '\0', '\x07', '\x1b', '\x7f', '\x85', '\x9b'),
})

async function written(text: string): Promise<string> {
  const stream = new PassThrough({ encoding: 'utf8' })
  await write(stream, text)
  return stream.read() as string
}

test('text of a node is written without control characters, except line breaks and tabs', async () => {
  await fc.assert(
    fc.asyncProperty(nasty, async (text) => {
      const body = JSON.stringify({ code: 'ERR_IO', message: text })
      const shown = await written(withCauses(errorOf(body, 500)))
      assert.doesNotMatch(shown, /[^\P{Cc}\n\t]/u)
      assert.equal(shown.split('\n').length, text.replace(/\n$/, '').split('\n').length + 1)
    }),
  )
  assert.equal(await written('a\x1b[2J\tb\x9b'), 'a\\u001b[2J\tb\\u009b\n')
})

test('JSON is written as one line without control characters, and has the same value', async () => {
  await fc.assert(
    fc.asyncProperty(nasty, async (text) => {
      const shown = await written(resultJson({ [text]: text }))
      assert.doesNotMatch(shown.slice(0, -1), /\p{Cc}/u)
      assert.deepEqual(JSON.parse(shown), { code: 'OK', result: { [text]: text } })
      const failed = await written(errorJson(errorOf(JSON.stringify({ code: 'ERR_IO', message: text }), 500)))
      assert.deepEqual(JSON.parse(failed), { code: 'ERR_IO', message: text })
    }),
  )
})

test('a cell of a table stays in its row', () => {
  fc.assert(
    fc.property(nasty, (text) => {
      const lines = table(['NODE ID', 'DISPLAY NAME'], [[text, 'b']]).split('\n')
      assert.equal(lines.length, 5)
      for (const line of lines) {
        assert.doesNotMatch(line, /\p{Cc}/u)
        assert.equal(line.length, lines[0]?.length)
      }
    }),
  )
})
