import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NodeProcess } from '../node-process.ts'

/** A recorded document; `path` is the row of the specification that it is about. */
export interface SettingsCase {
  readonly path: string
  readonly document: unknown
  readonly valid: boolean
}

interface Ended {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
}

/** What the command shows, for people and as JSON. */
interface Shown {
  readonly human: Ended
  readonly machine: Ended
}

/**
 * Sets documents on a running node with the real command, through its control socket, and on a stopped node: exit codes
 * and texts are the same, refused documents change nothing. Returns the number of documents that failed.
 */
export async function checkRunning(packageFolder: string, cases: readonly SettingsCase[]): Promise<number> {
  const temporary = mkdtempSync(join(tmpdir(), 'shoal-settings-'))
  const node = await NodeProcess.start({ packageFolder })
  const command = join(packageFolder, 'bin/shoal')
  const file = join(temporary, 'document.json')
  const stopped = join(temporary, 'stopped')
  const onRunning = (...args: string[]) => both(command, [...args, '--working-dir', node.folder])
  const onStopped = (...args: string[]) => both(command, [...args, '--working-dir', stopped])
  const show = async () =>
    (await run(command, ['settings', 'get', '/', '--no-defaults', '--json', '--working-dir', node.folder])).stdout
  let failed = 0
  try {
    await run(command, ['settings', 'local', 'init', '--working-dir', stopped])
    let stored = await show()
    for (const { path, document, valid } of cases) {
      writeFileSync(file, JSON.stringify(document))
      // A document without users is allowed to follow one with users.
      const set = ['settings', 'set', '/', `@${file}`, '--force']
      const [there, expected] = await Promise.all([onRunning(...set), onStopped(...set)])
      const problems = [...problemsOf(there, valid), ...differences(there, expected)]
      const before = stored
      stored = await show()
      if (!valid && stored !== before) problems.push('refused, but it changed what is stored')
      if (problems.length === 0) continue
      failed++
      console.log(`not ok  ${path} ${JSON.stringify(document)}\n        ${problems.join('\n        ')}`)
    }
  } finally {
    await node.stop()
    rmSync(temporary, { recursive: true, force: true })
  }
  console.log(`on a running node: ${cases.length - failed} passed, ${failed} failed`)
  return failed
}

async function both(command: string, args: readonly string[]): Promise<Shown> {
  const human = await run(command, args)
  return { human, machine: await run(command, [...args, '--json']) }
}

function run(command: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [command, ...args], (error, stdout, stderr) => {
      resolve({ exitCode: error === null ? 0 : Number(error.code), stdout, stderr })
    })
  })
}

/** Compares with the texts of the specification. */
function problemsOf({ human, machine }: Shown, valid: boolean): string[] {
  const wanted = valid
    ? { exitCode: 0, code: 'OK', text: /^Successfully replaced settings at \/\. Created object with defaults:\n/ }
    : {
        exitCode: 1,
        code: 'ERR_SETTINGS_INVALID',
        text: /^\[ERR_SETTINGS_INVALID\] Error: Validation failed\.\n\tErrors:\n\t\t\//,
      }
  const problems: string[] = []
  for (const { exitCode } of [human, machine])
    if (exitCode !== wanted.exitCode) problems.push(`exit code ${exitCode}, not ${wanted.exitCode}`)
  const text = valid ? human.stdout : human.stderr
  if (!wanted.text.test(text)) problems.push(`text: ${text}`)
  if (answerOf(machine).code !== wanted.code) problems.push(`code: ${machine.stdout}`)
  return problems
}

/** The same command on a stopped node shows the same, apart from revisions and what applies when. */
function differences(there: Shown, expected: Shown): string[] {
  const [one, other] = [there, expected].map(({ human, machine }) => {
    const { code, message, result } = answerOf(machine)
    const failure = human.exitCode === 0 ? undefined : human.stderr
    return JSON.stringify([human.exitCode, human.stdout, failure, machine.exitCode, code, message, result?.settings])
  })
  return one === other ? [] : [`a running node shows ${one}`, `a stopped node shows ${other}`]
}

function answerOf({ stdout }: Ended): { code?: string; message?: string; result?: { settings: unknown } } {
  try {
    return JSON.parse(stdout)
  } catch {
    return { code: 'no JSON', message: stdout }
  }
}
