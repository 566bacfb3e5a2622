import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { builtPackage } from '../../scripts/built-package.ts'
import type { Launch } from './process.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const bare = fileURLToPath(new URL('bare.cjs', import.meta.url))

const settings = { swarm: { topic: 'bench', swarmKey: Buffer.alloc(32, 7).toString('base64') } }

/** The programs to start, and their data folders. */
export interface Programs {
  readonly bare: () => Launch
  /** The package: JavaScript, as npm installs it. */
  readonly built: (folder: string) => Launch
  /** The checkout: TypeScript, with types stripped on loading. */
  readonly source: (folder: string) => Launch
  /** A folder on which no node has been started. */
  readonly newFolder: () => string
  /** Folders with stored settings, one per program: the seal of settings depends on the version. */
  readonly folderOfBuilt: string
  readonly folderOfSource: string
}

/** Makes folders with stored settings in the temporary one. */
export async function layOut(temporary: string): Promise<Programs> {
  const installed = await builtPackage()
  const env = cleanEnvironment(temporary)
  const [folderOfBuilt, folderOfSource] = [join(temporary, 'of-built'), join(temporary, 'of-source')]
  storeSettings(installed, folderOfBuilt, env)
  storeSettings(root, folderOfSource, env)
  let folders = 0
  return {
    bare: () => ({ args: [bare], env, port: /^listening on ([0-9]+)$/m }),
    built: (folder) => shoal(installed, folder, env),
    source: (folder) => shoal(root, folder, env),
    newFolder: () => {
      rmSync(join(temporary, `new-${folders}`), { recursive: true, force: true })
      return join(temporary, `new-${++folders}`)
    },
    folderOfBuilt,
    folderOfSource,
  }
}

/** The environment without variables that affect the start of Node or shoal. */
function cleanEnvironment(temporary: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !/^(NODE_|SHOAL_|ACTYX_|RUST_LOG$)/.test(name))
  return { ...Object.fromEntries(kept), SHOAL_STANDALONE: '1', TMPDIR: temporary, TEMP: temporary, TMP: temporary }
}

function shoal(at: string, folder: string, env: NodeJS.ProcessEnv): Launch {
  const args = [join(at, 'bin', 'shoal'), 'run', '--random', '--log-color', 'off', '--working-dir', folder]
  return { args, env, port: /\bAPI bound to 127\.0\.0\.1:([0-9]+)\./ }
}

function storeSettings(at: string, folder: string, env: NodeJS.ProcessEnv): void {
  const local = [join(at, 'bin', 'shoal'), 'settings', 'local']
  for (const command of [['init'], ['set', '/', JSON.stringify(settings)]])
    execFileSync(process.execPath, [...local, ...command, '--working-dir', folder], { env, stdio: 'pipe' })
}
