// `npm run crash:files [-- --kills N] [--seed S]`: crash test of files. Repeatedly kills a process that uploads, names,
// removes and garbage-collects files, and compares the store with everything that was acknowledged.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { Random } from './crash/random.ts'
import { checkFiles } from './crash-files/check.ts'
import { FilesLedger, type Step } from './crash-files/ledger.ts'

const { values } = parseArgs({
  options: { kills: { type: 'string', default: '100' }, seed: { type: 'string', default: String(Date.now()) } },
})
const kills = Number(values.kills)
const random = new Random(values.seed)
/** The maximum time from the start of the work to the kill, in milliseconds. */
const lifeMs = 500

/** Runs a process until it is killed, and records its reports in the ledger. */
async function life(folder: string, seed: number, ledger: FilesLedger): Promise<void> {
  const victim = spawn(process.execPath, [join(import.meta.dirname, 'crash-files/victim.ts'), folder, String(seed)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(victim, 'close')
  let text = ''
  const begun = new Promise<void>((resolve) => {
    victim.stdout.setEncoding('utf8').on('data', (piece: string) => {
      resolve()
      text += piece
    })
  })
  await Promise.race([begun, ended])
  await sleep(random.below(lifeMs))
  victim.kill('SIGKILL')
  await ended
  for (const line of text.split('\n').slice(0, -1)) ledger.add(JSON.parse(line) as Step)
}

const folder = mkdtempSync(join(tmpdir(), 'shoal-crash-files-'))
console.log(`--kills ${kills} --seed ${values.seed}, in ${folder}`)
const ledger = new FilesLedger()
const problems: string[] = []
let kill = 0
while (kill < kills && problems.length === 0) {
  kill++
  await life(folder, random.below(2 ** 31), ledger)
  problems.push(...(await checkFiles(folder, ledger)).map((problem) => `after kill ${kill}: ${problem}`))
}
const { uploads, namings, removals, collections } = ledger.acknowledged
console.log(
  `${kill} kills; acknowledged: ${uploads} uploads, ${namings} changes of names, ${removals} removals, ${collections} collections; ${problems.length} problems`,
)
for (const problem of problems) console.error(problem)
if (problems.length === 0) rmSync(folder, { recursive: true, force: true })
process.exitCode = problems.length === 0 ? 0 : 1
