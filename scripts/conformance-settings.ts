// `npm run conformance:settings [-- --every N] [--running]`: sets the recorded settings documents, or every nth of them,
// through the command line of the built package, which starts three times as fast as the source: there are a thousand
// commands. With `--running` on a running node, compared with a stopped one.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { builtPackage } from './built-package.ts'
import { checkRunning, type SettingsCase } from './conformance-settings/running.ts'

const { values } = parseArgs({
  options: { every: { type: 'string', default: '1' }, running: { type: 'boolean', default: false } },
})
const every = Number(values.every)
if (!Number.isInteger(every) || every < 1) throw new Error('--every takes a whole number from 1 on')

const conformance = join(import.meta.dirname, '../conformance/settings')
const all = JSON.parse(readFileSync(join(conformance, 'documents.json'), 'utf8')) as SettingsCase[]
const cases = all.filter((_, i) => i % every === 0)
const packageFolder = await builtPackage()
if (values.running) process.exitCode = (await checkRunning(packageFolder, cases)) === 0 ? 0 : 1
else setOnStoppedNodes()

function setOnStoppedNodes(): void {
  // The program reads the documents beside it.
  const folder = mkdtempSync(join(tmpdir(), 'shoal-settings-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  cpSync(conformance, folder, { recursive: true })
  writeFileSync(join(folder, 'documents.json'), JSON.stringify(cases))
  const command = join(packageFolder, 'bin/shoal')
  spawn(process.execPath, [join(folder, 'run.mjs'), process.execPath, command], { stdio: 'inherit' }).on(
    'exit',
    (code) => {
      process.exitCode = code ?? 1
    },
  )
}
