import { runInHub } from './site.ts'

/** Runs this program again in a network namespace in which sites are made; returns where it is already so. */
export function enterHub(): void {
  if (process.env['SHOAL_HUB'] !== undefined) return
  if (process.getuid?.() !== 0) {
    process.stderr.write('Network namespaces need root.\n')
    process.exit(1)
  }
  process.exit(runInHub(process.execPath, process.argv.slice(1), { ...process.env, SHOAL_HUB: '1' }))
}
