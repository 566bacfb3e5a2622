import { aqlLimits } from '../src/aql/index.ts'
import { errorTable } from '../src/base/errors.ts'
import { format } from '../src/base/format.ts'
import { limits } from '../src/base/limits.ts'
import { tuning } from '../src/base/tuning.ts'

/** Generates docs/errors.md from the table of error codes. */
export function errorsPage(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { status, text, when }]) => `| \`${code}\` | ${status} | ${when} | ${cell(text)} |`,
  )
  return [
    '# Errors',
    '',
    'Made from `src/base/errors.ts` by `npm run docs`; a test compares them.',
    '',
    'Over HTTP an error is `{"code":"…","message":"…"}` with the status of its row. A command prints `[CODE] Error: message`',
    '(`[ERR_IO]: Error: message`) on stderr, or with `--json` the same object on stdout, and ends with exit code 1; arguments that',
    'cannot be parsed end it with 2.',
    '',
    '| code | status | when | message |',
    '|---|---|---|---|',
    ...rows,
    '',
  ].join('\n')
}

/** The files with numbers, each with the introduction of its table. */
const numbers = [
  {
    file: 'src/base/limits.ts',
    values: limits,
    intro: 'Limits, charges, intervals and timeouts of the node. Exceeding a limit is an error that names it.',
  },
  {
    file: 'src/aql/language-limits.ts',
    values: aqlLimits,
    intro: 'These are the bounds of queries, whichever node runs them.',
  },
  {
    file: 'src/base/format.ts',
    values: format,
    intro: 'These are part of the formats on disk and on the wire. They change only with a new format version.',
  },
  {
    file: 'src/base/tuning.ts',
    values: tuning,
    intro: 'These are tuned for speed and memory. They may change with every version.',
  },
] as const

/** Generates docs/limits.md from the files with numbers and their comments. */
export function limitsPage(read: (file: string) => string): string {
  const files = numbers.map(({ file }) => `\`${file}\``).join(', ')
  return [
    '# Limits',
    '',
    `Made from ${files}`,
    'by `npm run docs`; a test compares them.',
    ...numbers.flatMap(({ file, values, intro }) => ['', intro, '', ...numbersTable(values, read(file))]),
    '',
  ].join('\n')
}

function numbersTable(values: Readonly<Record<string, number>>, source: string): string[] {
  const comments = new Map(
    [...source.matchAll(/\/\*\* (.*) \*\/\n\s+(\w+):/g)].map(([, comment = '', name = '']) => [name, comment]),
  )
  const rows = Object.entries(values).map(
    ([name, value]) => `| \`${name}\` | ${value} | ${cell(comments.get(name) ?? '')} |`,
  )
  return ['| name | value | what it is |', '|---|---|---|', ...rows]
}

function cell(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('|', '\\|')
}
