// `npm run test:swarm [-- FILE…]`: real nodes on machines of their own, which are network namespaces.
import { runInHub } from './site/site.ts'

// The script in package.json gives all files first; files that are given by hand replace them.
const given = process.argv.slice(2)
const end = given.indexOf('--')
const files = end >= 0 && end < given.length - 1 ? given.slice(end + 1) : given.filter((file) => file !== '--')

if (process.getuid?.() !== 0) {
  process.stderr.write('Network namespaces need root: run `sudo npm run test:swarm`.\n')
  process.exit(1)
}
// One file at a time: all sites have the same addresses.
const args = ['--test', '--test-concurrency=1', '--test-timeout=600000', '--test-reporter=spec', ...files]
process.exitCode = runInHub(process.execPath, args)
