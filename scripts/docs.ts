import { aqlLimits } from '../src/aql/index.ts'
import { errorTable } from '../src/errors.ts'
import { limits } from '../src/limits.ts'

/** docs/errors.md, made from the table of error codes. */
export function errorsPage(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { status, text, when }]) => `| \`${code}\` | ${status} | ${when} | ${cell(text)} |`,
  )
  return [
    '# Errors',
    '',
    'Made from `src/errors.ts` by `npm run docs`; a test compares them.',
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

/** docs/limits.md, made from the files of limits and their comments. */
export function limitsPage(node: string, aql: string): string {
  return [
    '# Limits',
    '',
    'Made from `src/limits.ts` and `src/aql/limits.ts` by `npm run docs`; a test compares them.',
    '',
    'Everything in the node has a bound. Going past one is an error that names it.',
    '',
    ...limitsTable(limits, node),
    '',
    'These are the bounds of queries, whichever node runs them.',
    '',
    ...limitsTable(aqlLimits, aql),
    '',
  ].join('\n')
}

function limitsTable(values: Readonly<Record<string, number>>, source: string): string[] {
  const comments = new Map(
    [...source.matchAll(/\/\*\* (.*) \*\/\n\s+(\w+):/g)].map(([, comment = '', name = '']) => [name, comment]),
  )
  const rows = Object.entries(values).map(
    ([name, value]) => `| \`${name}\` | ${value} | ${cell(comments.get(name) ?? '')} |`,
  )
  return ['| name | value | what it bounds |', '|---|---|---|', ...rows]
}

function cell(text: string): string {
  return text.replaceAll('<', '&lt;').replaceAll('|', '\\|')
}
