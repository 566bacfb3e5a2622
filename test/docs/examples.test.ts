import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { shoalCommand } from '../../scripts/shoal-command.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ShoalProcess } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

interface Example {
  command: string
  output: string
  /** Whether the preceding text says to stop the node. */
  stopsNode: boolean
}

/** The commands of the `console` blocks of a page, each with its expected output. */
function examplesOf(page: string): Example[] {
  const blocks = [...page.matchAll(/([\s\S]*?)^```console\n([\s\S]*?)^```/gm)]
  return blocks.flatMap(([, text = '', block = '']) =>
    block
      .split(/^\$ /m)
      .slice(1)
      .map((part) => {
        const [command = '', ...output] = part.split('\n')
        return { command, output: output.join('\n'), stopsNode: /[Ss]top\s+it\s+with\s+`Ctrl\+C`/.test(text) }
      }),
  )
}

/** `…` in a page matches anything. */
function pattern(output: string): RegExp {
  return new RegExp(
    `^${output
      .trimEnd()
      .split('…')
      .map((text) => RegExp.escape(text))
      .join('[\\s\\S]*')}$`,
  )
}

/** The subset of curl that the pages use. */
const curl = `
const { values, positionals } = require('node:util').parseArgs({
  options: { s: { type: 'boolean', short: 's' }, header: { type: 'string', short: 'H', multiple: true }, data: { type: 'string', short: 'd' } },
  allowPositionals: true,
})
const headers = (values.header ?? []).map((line) => line.split(/: */))
const init = { headers, ...(values.data !== undefined && { method: 'POST', body: values.data }) }
fetch(positionals[0], init).then(async (r) => process.stdout.write(await r.text()))
`

/** A folder of executables: `shoal`, and `curl` for machines without it. */
function commands(folder: string): string {
  const bin = join(folder, 'bin')
  mkdirSync(bin)
  symlinkSync(shoalCommand, join(bin, 'shoal'))
  const fallback = join(folder, 'fallback')
  mkdirSync(fallback)
  writeFileSync(join(fallback, 'curl'), `#!${process.execPath}\n${curl}`)
  chmodSync(join(fallback, 'curl'), 0o755)
  return [bin, dirname(process.execPath), process.env['PATH'], fallback].join(':')
}

/** Runs the commands of a page in a folder, while a node runs with its data folder below it. */
async function run(t: TestContext, examples: readonly Example[], data: string): Promise<void> {
  const folder = temporaryFolder(t)
  const node = new ShoalProcess(t, ['run', '--random', '--working-dir', join(folder, data)])
  const { host } = new URL(await node.api())
  const env = { ...process.env, PATH: commands(folder) }
  for (const { command, output, stopsNode } of examples) {
    if (stopsNode) {
      node.kill('SIGINT')
      await node.ended
    }
    const line = command.replaceAll('127.0.0.1:4454', host)
    const { stdout } = await promisify(execFile)('sh', ['-c', line], { cwd: folder, env }).catch(
      (error: { stdout: string }) => error,
    )
    assert.match(stdout.trimEnd(), pattern(output), command)
  }
}

for (const page of pages) {
  const text = readFileSync(join(root, page), 'utf8')
  const examples = examplesOf(text)
  // The README is followed from the start: its node is the one that `npm start` runs in this folder.
  const data = page === 'README.md' ? 'shoal-data' : 'running'
  if (examples.length > 0) test(`the examples of ${page} work as shown`, (t) => run(t, examples, data))
  test(`the links of ${page} are valid`, () => {
    for (const [, target = ''] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      assert.ok(existsSync(join(root, dirname(page), target)), target)
  })
}

test('the example of two nodes shows events arriving', async (t) => {
  const env = { ...process.env, TMPDIR: temporaryFolder(t) }
  const { stdout } = await promisify(execFile)(process.execPath, [join(root, 'examples/two-nodes/two-nodes.mjs')], {
    env,
  })
  assert.match(stdout, /node 2 has received \{"hello":"from node 1, while it is alone"\}/)
  assert.match(stdout, /node 2 is connected to 1 other node/)
  assert.match(stdout, /node 2 has received \{"hello":"from node 1, live"\}\nThis took \d+ ms\.\n$/)
})

test('the README says how to run the tests', () => {
  assert.match(readFileSync(join(root, 'README.md'), 'utf8'), /^npm test\b/m)
})
