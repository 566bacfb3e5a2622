// `npm run test:swarm [-- --all | FILE…]`: real nodes on machines of their own, which are network namespaces.
// Without arguments the tests that CI runs, with `--all` the whole list, whose last result is in docs/swarm.md.
import { globSync } from 'node:fs'
import { runInHub } from './site/site.ts'

// The script in package.json gives the files of CI first; what is given by hand comes after `--`.
const given = process.argv.slice(2)
const end = given.indexOf('--')
const [short, byHand] = end < 0 ? [given, []] : [given.slice(0, end), given.slice(end + 1)]
const whole = byHand.includes('--all') ? [...short, ...globSync('test/site/whole/*.test.ts').sort()] : short
const named = byHand.filter((file) => file !== '--all')

if (process.getuid?.() !== 0) {
  process.stderr.write('Network namespaces need root: run `sudo npm run test:swarm`.\n')
  process.exit(1)
}
// One file at a time: all sites have the same addresses.
const options = ['--test', '--test-concurrency=1', '--test-timeout=1200000', '--test-reporter=spec']
process.exitCode = runInHub(process.execPath, [...options, ...(named.length > 0 ? named : whole)])
