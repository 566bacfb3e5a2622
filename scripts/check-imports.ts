import { fileURLToPath } from 'node:url'
import { importProblems } from './imports.ts'

const problems = importProblems(fileURLToPath(new URL('../src', import.meta.url)))
for (const problem of problems) console.error(problem)
console.log(problems.length === 0 ? 'imports follow the arrows, no cycles' : `${problems.length} problems with imports`)
process.exitCode = problems.length === 0 ? 0 : 1
