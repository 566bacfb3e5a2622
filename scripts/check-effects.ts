import { fileURLToPath } from 'node:url'
import { effectProblems } from './effects.ts'

const problems = effectProblems(fileURLToPath(new URL('../src', import.meta.url)))
for (const problem of problems) console.error(problem)
console.log(
  problems.length === 0
    ? 'clock, timers and random numbers are given in'
    : `${problems.length} problems with clock, timers and random numbers`,
)
process.exitCode = problems.length === 0 ? 0 : 1
