import { readFileSync } from 'node:fs'

// Preloaded into a node process and all its threads: mocks the wall clock with the content of a file, in milliseconds.
const file = process.env['TEST_CLOCK_FILE']
if (file !== undefined) Date.now = () => Number(readFileSync(file, 'utf8'))
