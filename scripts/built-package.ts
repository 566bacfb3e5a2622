import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { bundle } from './bundle.ts'

const root = join(import.meta.dirname, '..')
const cache = join(root, 'node_modules/.cache/built-packages')
const dayMs = 24 * 60 * 60 * 1000

/**
 * Builds the package, which starts in half of the time of the source, unless this was done for this process. Returns its
 * folder, which is named after its content: other programs may run an earlier build at the same time.
 */
export async function builtPackage(): Promise<string> {
  const given = process.env['BUILT_PACKAGE']
  if (given !== undefined) return given
  mkdirSync(cache, { recursive: true })
  for (const old of globSync('*', { cwd: cache }).map((name) => join(cache, name)))
    if (Date.now() - statSync(old).mtimeMs > dayMs) rmSync(old, { recursive: true, force: true })
  const made = mkdtempSync(join(cache, 'new-'))
  for (const file of ['bin', 'package.json']) cpSync(join(root, file), join(made, file), { recursive: true })
  await bundle(join(made, 'dist'))
  const hash = createHash('sha256')
  for (const file of globSync('{bin,dist}/*', { cwd: made }).sort())
    hash.update(file).update(readFileSync(join(made, file)))
  const folder = join(cache, hash.digest('hex').slice(0, 16))
  if (existsSync(folder)) rmSync(made, { recursive: true })
  else renameSync(made, folder)
  return folder
}
