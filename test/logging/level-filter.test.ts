import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LogFilter } from '../../src/logging/index.ts'
import { levels } from '../../src/logging/level-filter.ts'
import * as fc from '../support/property.ts'

const allowed = (filter: string, module: string, target = module) =>
  levels.filter((level) => new LogFilter(filter).allows(level, module, target))

test('a level passes itself and everything more severe', () => {
  assert.deepEqual(allowed('WARN', 'node'), ['ERROR', 'WARN'])
  assert.deepEqual(allowed('debug', 'node'), ['ERROR', 'WARN', 'INFO', 'DEBUG'])
  assert.deepEqual(allowed('trace', 'node'), [...levels])
  assert.deepEqual(allowed('off', 'node'), [])
})

test('the most specific module name decides the level, a bare level is the default', () => {
  const filter = 'swarm=debug,swarm::peers=error,warn'
  assert.deepEqual(allowed(filter, 'api'), ['ERROR', 'WARN'])
  assert.deepEqual(allowed(filter, 'swarm'), ['ERROR', 'WARN', 'INFO', 'DEBUG'])
  assert.deepEqual(allowed(filter, 'swarm::dial'), ['ERROR', 'WARN', 'INFO', 'DEBUG'])
  assert.deepEqual(allowed(filter, 'swarm::peers'), ['ERROR'])
  assert.deepEqual(allowed(filter, 'swarmlike'), ['ERROR', 'WARN'])
  assert.deepEqual(allowed('api_bound=off,info', 'api', 'API_BOUND'), [])
})

test('without a default level, modules that are not named only log errors', () => {
  assert.deepEqual(allowed('swarm', 'swarm'), [...levels])
  assert.deepEqual(allowed('swarm=info', 'api'), ['ERROR'])
})

test('any text that the settings allow is a filter, and invalid directives are reported', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z0-9_:,=]+$/), (text) => {
      const filter = new LogFilter(text)
      for (const level of levels) assert.equal(typeof filter.allows(level, 'node', 'node'), 'boolean')
    }),
  )
  assert.deepEqual(new LogFilter('a=b=c,=info,x=loud,warn,inof').warnings, [
    "'a=b=c' in the log filter is ignored: it is neither a level nor module=level",
    "'=info' in the log filter is ignored: it is neither a level nor module=level",
    "'x=loud' in the log filter is ignored: it is neither a level nor module=level",
    "'inof' in the log filter is not a level: it is taken as the name of a module",
  ])
})
