// `npm run conformance:settings`: sets the recorded settings documents through the command line of the built package,
// which starts three times as fast as the source: there are hundreds of commands.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { builtPackage } from './built-package.ts'

const command = join(await builtPackage(), 'bin/shoal')
const program = join(import.meta.dirname, '../conformance/settings/run.mjs')
spawn(process.execPath, [program, process.execPath, command], { stdio: 'inherit' }).on('exit', (code) => {
  process.exitCode = code ?? 1
})
