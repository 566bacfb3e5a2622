import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenLog } from '../../../src/api/token-log.ts'
import { RefusedApps } from '../../../src/cli/doctor/refused-apps.ts'
import { jsonLine, Logger, logOutput } from '../../../src/logging/index.ts'
import { systemRuntime } from '../../../src/runtime/system-runtime.ts'

test('an app counts as refused until the log shows a token for it', () => {
  const lines: string[] = []
  const sink = { write: (line: string) => lines.push(line), flush: async () => {} }
  const log = new TokenLog(new Logger(logOutput(jsonLine, sink, systemRuntime.clock), 'api'), systemRuntime.timers)
  const manifest = (appId: string) => ({ appId, displayName: 'x', version: '1.0.0: no token for x' })
  log.refused(manifest('com.acme.one'), 'no license found', undefined)
  log.refused(manifest('com.acme.two'), 'Invalid manifest. Why: it is', undefined)
  log.issued(manifest('com.acme.one'), 'signed', 0, undefined)
  const apps = new RefusedApps()
  for (const line of [...lines, '', 'no JSON', 'null', '{"target":"AUTH","message":7}']) apps.add(line)
  assert.deepEqual(
    apps.refused.map(({ appId }) => appId),
    ['com.acme.two'],
  )
  assert.match(apps.refused[0]?.reason ?? '', /Invalid manifest\. Why: it is$/)
})
