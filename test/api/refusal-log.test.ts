import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refusalOf } from '../../src/api/refusal.ts'
import { RefusalLog } from '../../src/api/refusal-log.ts'
import { type ErrorCode, errorTable, failure, invalidRequest, ShoalError } from '../../src/base/errors.ts'
import { LogFilter, Logger, type LogRecord } from '../../src/logging/index.ts'
import { systemRuntime } from '../../src/runtime/system-runtime.ts'

function lineOf(thrown: unknown): LogRecord {
  const lines: LogRecord[] = []
  const { clock, timers } = systemRuntime
  const output = { filter: new LogFilter('INFO'), clock, write: (record: LogRecord) => lines.push(record) }
  new RefusalLog(new Logger(output, 'api'), timers).add(refusalOf(thrown), { remote: undefined })
  const [line] = lines
  assert.ok(line !== undefined && lines.length === 1)
  return line
}

test('the cause of a refusal is in the log, at most 200 characters of it in one line', () => {
  const cause = lineOf(invalidRequest(`\x1b[31m\nred\u009b${'x'.repeat(1000)}`)).fields['cause'] as string
  assert.ok(cause.startsWith('\\u001b[31m\\u000ared\\u009bxxx') && cause.endsWith('x…'), cause)
  assert.equal(cause.replaceAll(/\\u..../g, '-').length, 201)
})

test('a cause that may quote tokens or contents of requests is not in the log', () => {
  const quoting: ShoalError[] = [
    failure('ERR_TOKEN_INVALID', { token: 'secret', cause: 'Malformed' }),
    failure('ERR_UNSUPPORTED_AUTH_TYPE', { type: 'secret' }),
    failure('ERR_BAD_REQUEST', { cause: "'secret' is no query" }),
    failure('ERR_SETTINGS_INVALID', { cause: "/swarm/swarmKey: 'secret'" }),
    failure('ERR_INVALID_INPUT', { cause: "'secret'" }),
  ]
  for (const error of [...quoting, new Error('secret')])
    assert.doesNotMatch(JSON.stringify(lineOf(error)), /secret/, error.message)
})

test('an error without details has no cause beside its reason', () => {
  const codes = Object.keys(errorTable) as ErrorCode[]
  for (const code of codes) {
    const { text, when } = errorTable[code]
    const { fields, message } = lineOf(new ShoalError(code, text))
    assert.deepEqual(fields, { reason: when })
    assert.ok(message.endsWith(code))
  }
})
