// Writes the pages of docs/ that are made from the code.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { errorsPage, limitsPage } from './docs.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
writeFileSync(`${root}/docs/errors.md`, errorsPage())
writeFileSync(`${root}/docs/limits.md`, limitsPage(readFileSync(`${root}/src/limits.ts`, 'utf8')))
