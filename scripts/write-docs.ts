// Writes the pages of docs/ that are generated from code.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errorsPage, limitsPage } from './docs.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (file: string) => readFileSync(`${root}/${file}`, 'utf8')
writeFileSync(`${root}/docs/errors.md`, errorsPage())
writeFileSync(`${root}/docs/limits.md`, limitsPage(read))
