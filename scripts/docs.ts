import { aqlLimits } from '../src/aql/index.ts'
import { errorTable } from '../src/base/errors.ts'
import { format } from '../src/base/format.ts'
import { adminLimits } from '../src/base/limits/admin.ts'
import { apiLimits } from '../src/base/limits/api.ts'
import { eventLimits } from '../src/base/limits/events.ts'
import { fileLimits } from '../src/base/limits/files.ts'
import { memoryLimits } from '../src/base/limits/memory.ts'
import { processLimits } from '../src/base/limits/process.ts'
import { queryLimits } from '../src/base/limits/queries.ts'
import { replicationLimits } from '../src/base/limits/replication.ts'
import { swarmLimits } from '../src/base/limits/swarm.ts'
import { tuning } from '../src/base/tuning.ts'

/** Generates docs/errors.md from the table of error codes. */
export function errorsPage(): string {
  const rows = Object.entries(errorTable).map(
    ([code, { status, text, when }]) => `| \`${code}\` | ${status} | ${when} | ${cell(text)} |`,
  )
  const retried = Object.entries(errorTable).flatMap(([code, row]) => ('retrySeconds' in row ? [`\`${code}\``] : []))
  return [
    '# Errors',
    '',
    'Made from `src/base/errors.ts` by `npm run docs`; a test compares them.',
    '',
    'Over HTTP an error is `{"code":"…","message":"…"}` with the status of its row. A command prints `[CODE] Error: message`',
    '(`[ERR_IO]: Error: message`, `[AQL_ERROR]: message`) on stderr, or with `--json` the same object on stdout, and ends with',
    'exit code 1; arguments that cannot be parsed end it with 2. With a request that may succeed after a second the header',
    `\`Retry-After: 1\` is sent: ${retried.join(', ')}.`,
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
    file: 'src/base/limits/process.ts',
    values: processLimits,
    intro: 'Limits of the process: settings, control socket, log, open files, failures.',
  },
  {
    file: 'src/base/limits/api.ts',
    values: apiLimits,
    intro: 'Limits of the HTTP and WebSocket API.',
  },
  {
    file: 'src/base/limits/admin.ts',
    values: adminLimits,
    intro: 'Limits of the admin interface: signing in, sessions, log lines.',
  },
  {
    file: 'src/base/limits/memory.ts',
    values: memoryLimits,
    intro: 'The memory of clients, and what each of them is charged.',
  },
  {
    file: 'src/base/limits/queries.ts',
    values: queryLimits,
    intro: 'Limits of queries and subscriptions.',
  },
  {
    file: 'src/base/limits/events.ts',
    values: eventLimits,
    intro: 'Limits of storing events: publishing, receiving chunks, serving them, retention.',
  },
  {
    file: 'src/base/limits/replication.ts',
    values: replicationLimits,
    intro: 'Limits of the messages by which nodes replicate events.',
  },
  {
    file: 'src/base/limits/swarm.ts',
    values: swarmLimits,
    intro: 'Limits of finding peers, connections and the swarm thread.',
  },
  {
    file: 'src/base/limits/files.ts',
    values: fileLimits,
    intro: 'Limits of files: uploads, standing queries, and the exchange of blocks with peers.',
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
  return [
    '# Limits',
    '',
    'Made by `npm run docs` from the file that each part names; a test compares them. Exceeding a limit is an error that',
    'names it.',
    ...numbers.flatMap(({ file, values, intro }) => [
      '',
      `${intro} (\`${file}\`)`,
      '',
      ...numbersTable(values, read(file)),
    ]),
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
