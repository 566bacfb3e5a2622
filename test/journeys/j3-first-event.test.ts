import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { Journey } from '../support/journey.ts'
import { RunningNode } from '../support/running-node.ts'

test('J3: first event and query from the command line', async (t) => {
  const journey = new Journey(t)
  const { admin, id } = await RunningNode.start(t, join(journey.folder, 'data'))
  await journey.run(['users', 'keygen'], '\n')

  const published = await journey.text('events', 'publish', admin, '"hello!"', '-t', 'greeting')
  const [, stream, offset] = /^published event (\S+)\/(\d+) at \d{4}-\d\d-\d\dT\S+Z\n$/.exec(published) ?? []
  assert.equal(stream, `${id}-0`)
  const { data } = await journey.result('events', 'publish', admin, '"again!"', '-t', 'greeting')
  assert.deepEqual(Object.keys(data[0]), ['lamport', 'stream', 'offset', 'timestamp'])
  assert.equal(data[0].offset, Number(offset) + 1)

  const lines = (await journey.text('events', 'query', admin, 'FROM allEvents')).trimEnd().split('\n')
  assert.ok(lines.length > 2, 'after system events')
  assert.match(lines.at(-2) ?? '', /^\d+\/.{4}-0@\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}[+-]\d\d:\d\d: "hello!"$/)
  assert.match(lines.at(-1) ?? '', /: "again!"$/)

  const machine = await journey.run(['events', 'query', admin, "FROM 'greeting'", '--json'])
  const events = machine.stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    events.map(({ type, appId, tags, payload }) => [type, appId, tags, payload]),
    ['hello!', 'again!'].map((payload) => ['event', 'com.actyx.cli', ['greeting'], payload]),
  )

  await journey.refused('ERR_INVALID_INPUT', 'events', 'query', admin, 'FROM allEvents WHERE')
})
