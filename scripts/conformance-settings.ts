// `npm run conformance:settings`: sets the recorded settings documents through the command line of the packed package,
// which starts three times as fast as the source: there are hundreds of commands.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { unpackedPackage } from './packed.ts'

const folder = mkdtempSync(join(tmpdir(), 'shoal-settings-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const command = join(unpackedPackage(folder), 'bin/shoal')
const program = join(import.meta.dirname, '../conformance/settings/run.mjs')
spawn(process.execPath, [program, process.execPath, command], { stdio: 'inherit' }).on('exit', (code) => {
  process.exitCode = code ?? 1
})
