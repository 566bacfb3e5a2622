// `npm run conformance:settings [-- --every N]`: sets the recorded settings documents, or every nth of them, through the
// command line of the built package, which starts three times as fast as the source: there are a thousand commands.
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { builtPackage } from './built-package.ts'

const { values } = parseArgs({ options: { every: { type: 'string', default: '1' } } })
const every = Number(values.every)
if (!Number.isInteger(every) || every < 1) throw new Error('--every takes a whole number from 1 on')

// The program reads the documents beside it.
const folder = mkdtempSync(join(tmpdir(), 'shoal-settings-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
cpSync(join(import.meta.dirname, '../conformance/settings'), folder, { recursive: true })
const documents = join(folder, 'documents.json')
const all = JSON.parse(readFileSync(documents, 'utf8')) as unknown[]
writeFileSync(documents, JSON.stringify(all.filter((_, i) => i % every === 0)))

const command = join(await builtPackage(), 'bin/shoal')
spawn(process.execPath, [join(folder, 'run.mjs'), process.execPath, command], { stdio: 'inherit' }).on(
  'exit',
  (code) => {
    process.exitCode = code ?? 1
  },
)
