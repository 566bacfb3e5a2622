import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { temporaryFolder } from '../support/folder.ts'
import { startNode } from '../support/node.ts'
import { shoal } from '../support/process.ts'

async function json(t: TestContext, args: readonly string[], input?: string): Promise<unknown> {
  const { stdout } = await shoal(t, ['aql', ...args, '--json'], input === undefined ? {} : { input })
  return JSON.parse(stdout)
}

test('check lists the features that a query uses', async (t) => {
  const { code, stdout } = await shoal(t, ['aql', 'check', "FROM 'a' LIMIT 3"])
  assert.equal(code, 0)
  assert.equal(stdout, 'The query can be sent to `query`. It uses these features: limit.\n')
  assert.deepEqual(await json(t, ['check', "FEATURES(aggregate x) FROM 'a' & 'b' AGGREGATE LAST(_)"]), {
    code: 'OK',
    result: {
      endpoint: 'query',
      used: ['aggregate'],
      enabled: ['aggregate', 'x'],
      canonical: "FEATURES(aggregate x) FROM ('a' & 'b') AGGREGATE LAST(_) END",
    },
  })
})

test('check shows the position of a syntax error', async (t) => {
  const { code, stderr } = await shoal(t, ['aql', 'check', 'FROM x'])
  assert.equal(code, 1)
  assert.equal(
    stderr,
    '[ERR_INVALID_INPUT] Error: Syntax error in the query.\n --> 1:6\n  |\n1 | FROM x\n  |      ^---\n  |\n  = expected array or tag_expr\nNext: shoal aql check --help\n',
  )
})

test('check rejects features that are not enabled, and features that the endpoint does not support', async (t) => {
  const { stderr } = await shoal(t, ['aql', 'check', 'FROM [1] END'])
  assert.equal(
    stderr,
    '[ERR_INVALID_INPUT] Error: The query uses beta features that are not enabled: fromArray.\nNext: shoal aql check --help\n',
  )
  assert.deepEqual(await json(t, ['check', '--endpoint', 'subscribe_monotonic', "FROM 'a' LIMIT 1"]), {
    code: 'ERR_INVALID_INPUT',
    message: 'Feature `limit` is not supported on endpoint `SubscribeMonotonic`.',
  })
})

test('check validates PRAGMA events of a query', async (t) => {
  assert.deepEqual(await json(t, ['check', '-'], 'PRAGMA events\n{ "payload": 1 }\n{}\nENDPRAGMA\nFROM \'a\''), {
    code: 'ERR_INVALID_INPUT',
    message: 'PRAGMA events, line 2: there is no `payload`',
  })
})

test('format prints one line per stage', async (t) => {
  const { stdout } = await shoal(t, ['aql', 'format', '-'], {
    input: "FROM ('a'&'b')FILTER(_.x>(1+2))SELECT{a:_}--END",
  })
  assert.equal(stdout, "FROM 'a' & 'b'\nFILTER _.x > 1 + 2\nSELECT { a: _ }\n")
  assert.deepEqual(await json(t, ['format', "FROM 'a' END"]), { code: 'OK', result: "FROM 'a'\n" })
})

test('run queries a file of events', async (t) => {
  const file = join(temporaryFolder(t), 'events.ndjson')
  writeFileSync(file, '{"tags":["a"],"payload":{"x":1}}\n\n{"tags":["a"],"payload":{"x":2.0}}\n{"payload":3}\n')
  const { code, stdout } = await shoal(t, [
    'aql',
    'run',
    "FROM 'a' SELECT _.x + 1",
    '--events',
    file,
    '--order',
    'desc',
  ])
  assert.equal(code, 0)
  assert.deepEqual(
    [...stdout.matchAll(/"type":"(\w+)"|"payload":([^}]*)/g)].map(([, type, payload]) => type ?? payload),
    ['event', '3.0', 'event', '2', 'offsets'],
  )
})

test('run needs no source for a query without events, and an incomplete result ends with exit code 1', async (t) => {
  const [value, end] = (await shoal(t, ['aql', 'run', 'FEATURES(fromArray) FROM [1 + 1]'])).stdout.split('\n')
  assert.match(value ?? '', /"payload":2\}$/)
  assert.equal(end, '{"type":"offsets","offsets":{}}')
  const { code, stdout } = await shoal(t, ['aql', 'run', 'FEATURES(fromArray) FROM [x]'])
  assert.equal(code, 1)
  assert.equal(stdout, '{"type":"diagnostic","severity":"warning","message":"variable `x` is not bound"}\n')
})

test('run queries the default data folder when no source is given', async (t) => {
  const parent = temporaryFolder(t)
  const { node, call } = await startNode(t, join(parent, 'shoal-data'))
  const body = JSON.stringify({ data: [{ tags: ['press'], payload: 7 }] })
  await call('/api/v2/events/publish', { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const query = ['aql', 'run', "FROM 'press'"]
  const running = await shoal(t, query, { cwd: parent })
  assert.equal(running.code, 1)
  assert.match(running.stderr, /is locked by another shoal process/)
  await node.stop('NODE_STOPPED_BY_HOST')
  for (const options of [{ cwd: parent }, { env: { SHOAL_PATH: node.folder } }]) {
    const { code, stdout } = await shoal(t, query, options)
    assert.equal(code, 0)
    assert.match(stdout, /"payload":7\}\n\{"type":"offsets"/)
  }
  // A query with PRAGMA events, or without events, needs no store.
  for (const query of ['PRAGMA events\n{"payload":1}\nENDPRAGMA\nFROM allEvents', 'FEATURES(fromArray) FROM [1]']) {
    const { stdout } = await shoal(t, ['aql', 'run', query], { cwd: parent })
    assert.match(stdout, /"payload":1\}\n/)
    assert.doesNotMatch(stdout, /"payload":7/)
  }
})

test('run without a source of events fails with the options that name one', async (t) => {
  const { code, stdout, stderr } = await shoal(t, ['aql', 'run', 'FROM allEvents'], { cwd: temporaryFolder(t) })
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /There is no data folder `.*shoal-data` to read events from\..* --working-dir, .* --events\./)
})

test('run prints the same lines with --json, with numbers unchanged', async (t) => {
  const file = join(temporaryFolder(t), 'events.ndjson')
  writeFileSync(file, '{"tags":["a"],"timestamp":1,"payload":{"a":9007199254740993,"b":2.0}}\n')
  const run = (...more: string[]) => shoal(t, ['aql', 'run', "FROM 'a'", '--events', file, ...more])
  const { stdout } = await run('--json')
  assert.match(stdout, /"payload":\{"a":9007199254740993,"b":2\.0\}\}\n\{"type":"offsets"/)
  assert.equal(stdout, (await run()).stdout)
})

test('run and check reject an invalid query for every source of events', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  assert.equal((await shoal(t, ['settings', 'local', 'init', '--working-dir', folder])).code, 0)
  for (const [query, message] of [
    ['FROM x', 'Syntax error in the query.'],
    ['FROM [1]', 'The query uses beta features that are not enabled: fromArray.'],
    [`FROM 'a' ${'FILTER TRUE '.repeat(1001)}`, 'the query has too many stages (limit stages: 1000)'],
  ] as const)
    for (const args of [
      ['run', query],
      ['run', query, '--working-dir', folder],
      ['check', query],
    ]) {
      const { code, stderr } = await shoal(t, ['aql', ...args])
      assert.equal(code, 1)
      assert.equal(stderr.split('\n')[0], `[ERR_INVALID_INPUT] Error: ${message}`)
    }
})

test('run rejects a malformed event file with the line number', async (t) => {
  const file = join(temporaryFolder(t), 'events.ndjson')
  writeFileSync(file, '{"payload":1}\n{"tags":[]}\n')
  const { code, stderr } = await shoal(t, ['aql', 'run', 'FROM allEvents', '--events', file])
  assert.equal(code, 1)
  assert.equal(
    stderr,
    `[ERR_INVALID_INPUT] Error: ${file}, line 2: there is no \`payload\`\nNext: shoal aql run --help\n`,
  )
})
