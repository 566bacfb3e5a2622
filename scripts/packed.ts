import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * Packs the package as npm publishes it and unpacks it into a folder without source, which would take precedence. Its
 * dependencies are those of the checkout. Returns the folder of the package.
 */
export function unpackedPackage(below: string): string {
  mkdirSync(below, { recursive: true })
  // The output of the build must not get into the stdout of the caller.
  const stdio = ['ignore', process.stderr, process.stderr] as const
  const pack = ['pack', '--silent', '--pack-destination', below]
  execFileSync('npm', pack, { cwd: root, stdio: [...stdio], shell: process.platform === 'win32' })
  const tarball = readdirSync(below).find((name) => name.endsWith('.tgz'))
  if (tarball === undefined) throw new Error(`npm packed nothing into ${below}`)
  execFileSync('tar', ['-xzf', join(below, tarball), '-C', below], { stdio: [...stdio] })
  const folder = join(below, 'package')
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction')
  return folder
}
