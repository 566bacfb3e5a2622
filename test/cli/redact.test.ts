import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import { publishEvent } from '../../src/cli/commands/events.ts'
import { redactEvents } from '../../src/cli/commands/redact-events.ts'
import { KeyPair } from '../../src/identity/index.ts'
import { socketText } from '../../src/listening/listen.ts'
import { temporaryFolder } from '../support/folder.ts'
import { addForeignStream } from '../support/foreign-stream.ts'
import { startBareNode } from '../support/node.ts'
import { shoal, until } from '../support/process.ts'

const identity = new KeyPair(Buffer.alloc(32, 2)).toPrivateText()

function listed(...events: string[]) {
  return { events, query: undefined, isConfirmed: false }
}

test('events are redacted by their offsets or by a query, and what was not is said', async (t) => {
  const folder = join(temporaryFolder(t), 'data')
  const foreign = await addForeignStream(t, folder)
  const foreignNode = foreign.slice(0, -2)
  const { node } = await startBareNode(t, { folder })
  const [at] = node.addresses.admin
  assert.ok(at)
  const address = socketText(at)
  const published = async (payload: string): Promise<{ stream: string; offset: number }> => {
    const { json } = await publishEvent({ folder }, payload, ['r'])
    const [event] = (json as { data: { stream: string; offset: number }[] }).data
    assert.ok(event)
    return event
  }
  const { stream, offset } = await published('"secret one"')
  for (const payload of ['2', '3', '4']) await published(payload)
  const redact = (...words: string[]) => shoal(t, ['events', 'redact', ...words])

  await t.test('by offset, in text', async () => {
    const one = await redact(address, `${stream}/${offset}`, '-i', identity)
    assert.deepEqual(
      [one.code, one.stdout, one.stderr],
      [0, 'Redacted 1 event. Other nodes remove the payloads when they are connected.\n', ''],
    )
    const again = await redactEvents({ folder }, listed(`${stream}/${offset}-${offset + 1}`))
    assert.equal(again.failed, false)
    assert.equal(
      await again.text(),
      `Redacted 1 event. Other nodes remove the payloads when they are connected.\nRedacted before, 1 event: ${stream}/${offset}.`,
    )
  })

  await t.test('in JSON, with an event of another node and one that does not exist', async () => {
    const words = [`${stream}/${offset + 2}`, `${stream}/99999`, `${foreign}/1`]
    const { code, stdout, stderr } = await redact(...words, '--working-dir', folder, '--json')
    assert.deepEqual([code, stderr], [1, ''])
    const range = (of: string, at: number) => ({ stream: of, first: at, last: at })
    assert.deepEqual(JSON.parse(stdout), {
      code: 'OK',
      result: {
        redacted: 1,
        alreadyRedacted: 0,
        pruned: 0,
        unknown: 1,
        facts: 0,
        refused: 1,
        events: [
          { ...range(stream, offset + 2), state: 'redacted' },
          { ...range(stream, 99999), state: 'unknown' },
          { ...range(foreign, 1), state: 'refused', nodeId: foreignNode },
        ],
      },
    })
    await assert.rejects(redactEvents({ folder }, listed(`${foreign}/0`)), {
      code: 'ERR_INVALID_INPUT',
      message: `Only the node that has published an event can redact it.\nNot redacted, 1 event of the node ${foreignNode}: ${foreign}/0. Type the command with the address of that node.`,
    })
  })

  await t.test('a query shows the events first; without a terminal it needs --yes', async () => {
    const query = ['--query', "FROM 'r' | 'foreign'", '--working-dir', folder]
    const asked = await redact(...query)
    assert.equal(asked.code, 1)
    const lines = asked.stderr.split('\n')
    assert.equal(lines[0], 'The query selects 3 events:')
    assert.ok(lines.some((line) => line.startsWith(`  ${stream}/${offset + 3}  `) && line.endsWith(': 4')))
    assert.ok(lines.includes('This node can redact 1 of them.'))
    assert.match(asked.stderr, /Confirm it with --yes\.\n$/)
    const done = await redact(...query, '--yes', '--json')
    assert.equal(done.code, 1)
    const { result } = JSON.parse(done.stdout)
    assert.deepEqual([result.redacted, result.refused], [1, 2])
    const own = await redactEvents({ folder }, { events: [], query: "FROM 'r'", isConfirmed: false })
    assert.deepEqual([own.failed, await own.text()], [false, 'Redacted 0 events.'])
  })

  await t.test('on a terminal the number of events has to be typed', async () => {
    await published('"asked"')
    const line = `exec '${process.execPath}' '${shoalCommand}' events redact -q "FROM 'r'" --working-dir '${folder}'`
    for (const [typed, end] of [
      ['yes', 'Not confirmed: nothing was changed.'],
      ['1', 'Redacted 1 event.'],
    ] as const) {
      const terminal = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'])
      t.after(() => terminal.kill('SIGKILL'))
      let screen = ''
      terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
        screen += text
      })
      await until(
        () => (screen.includes('Type 1 to go on: ') ? true : undefined),
        () => screen,
      )
      terminal.stdin.write(`${typed}\r`)
      await until(
        () => (screen.includes(end) ? true : undefined),
        () => screen,
      )
    }
  })

  await t.test('what is not allowed is refused, with what is', async () => {
    const refused = async (events: string[], query: string | undefined, message: RegExp): Promise<void> => {
      const named = { folder }
      await assert.rejects(redactEvents(named, { events, query, isConfirmed: true }), {
        code: 'ERR_INVALID_INPUT',
        message,
      })
    }
    await refused([], undefined, /^Name the events by <stream ID>\/<offset>, or select them with --query\.$/)
    await refused([`${stream}/1`], 'FROM allEvents', /^Name the events/)
    for (const word of ['x', `${stream}/`, `${stream}/-1`, `${stream}/3-2`, `${stream}/1/2`, stream])
      await refused([word], undefined, /is not an event\. Allowed: <stream ID>\/<offset>/)
    await refused(['abc-0/1'], undefined, /'abc' is not a node ID/)
    await refused([`${stream}/0-999999999`], undefined, /^More than 200000 events at once/)
    await refused([], 'FROM', /./)
    await refused(
      [],
      "FEATURES(aggregate) FROM 'event_routing' AGGREGATE SUM(_.streamNr)",
      /^The query computes results that are no events/,
    )
    const { json } = await publishEvent({ folder }, '1', [])
    const [event] = (json as { data: { stream: string }[] }).data
    const facts = await redactEvents({ folder }, listed(`${event?.stream}/0`))
    assert.equal(facts.failed, true)
    assert.match(
      await facts.text(),
      /^Redacted 0 events\.\nNot redacted, 1 event that the node needs: names of streams/,
    )
  })
})
