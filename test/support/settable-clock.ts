import { readFileSync } from 'node:fs'

// Preloaded into a node process and all of its threads: the wall clock shows what stands in a file, in milliseconds.
const file = process.env['TEST_CLOCK_FILE']
if (file !== undefined) Date.now = () => Number(readFileSync(file, 'utf8'))
