import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

/** Everything below this folder may ask the system for the time, for timers and for random numbers. */
const runtime = 'runtime/'

/** Composition roots: they alone take the implementations of the system, and pass them to their parts. */
const roots: readonly string[] = [
  'node/node.ts',
  'cli/commands/',
  'files/thread/files-thread.ts',
  'events/query/query-thread.ts',
  'store/threads/calls/blob-thread.ts',
  'store/threads/reader/reader-thread.ts',
  'store/threads/writer/writer-thread.ts',
]

/** How the system is asked, in the words for what it is asked for. A member of an object that was given in is none of them. */
const asked: readonly (readonly [what: string, pattern: RegExp])[] = [
  [
    'the time',
    /(?<![\w.#])(?:globalThis\.)?(?:Date\.now\b|new Date(?:\(\s*\)|(?!\s*\()\b)|(?<!new )Date\(|Temporal\.Now\b)/g,
  ],
  ['the time', /(?<![\w.#])(?:globalThis\.)?performance\b|\bhrtime\b|\bprocess\.uptime\b|\bperf_hooks\b/g],
  ['a timer', /(?<![\w.#])(?:globalThis\.)?(?:set|clear)(?:Timeout|Interval|Immediate)\b/g],
  ['a timer', /\bnode:timers\b|\bfrom 'timers(?:\/promises)?'|\bAbortSignal\.timeout\b/g],
  ['random numbers', /\bMath\.random\b|\brandom(?:Bytes|UUID|Int|Fill|FillSync)\b|\bgetRandomValues\b/g],
  ['random numbers', /\bgenerate(?:KeyPair|Key|Prime)(?:Sync)?\b|\bwebcrypto\b|(?<![\w.#])(?:globalThis\.)?crypto\./g],
]

/** The implementations of the system. */
const ofTheSystem = /\b(?:system(?:Clock|Timers|Random|Runtime)|nowMicros|processStartSeconds)\b/g

/**
 * Where modules below a source folder ask the system for the time, for a timer or for random numbers, which are given in
 * everywhere but in `runtime`; and where others than the composition roots take the implementations of the system.
 */
export function effectProblems(source: string): string[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => name.replaceAll(sep, '/'))
    .filter((name) => !isBelow(name, [runtime]))
    .sort()
    .flatMap((name) => problemsIn(name, readFileSync(join(source, name), 'utf8')))
}

function isBelow(name: string, paths: readonly string[]): boolean {
  return paths.some((path) => (path.endsWith('/') ? name.startsWith(path) : name === path))
}

function problemsIn(name: string, text: string): string[] {
  const code = withoutComments(text)
  const place = (index: number): string => `${name}:${code.slice(0, index).split('\n').length}`
  const own = asked.flatMap(([what, pattern]) =>
    [...code.matchAll(pattern)].map(
      ({ 0: found, index }) =>
        `${place(index)}: asks the system for ${what} (${found.trim()}) instead of being given it`,
    ),
  )
  const taken = isBelow(name, roots) ? [] : [...code.matchAll(ofTheSystem)]
  return [
    ...own,
    ...taken.map(({ 0: found, index }) => `${place(index)}: takes ${found}, which is for composition roots only`),
  ]
}

/** Comments become blanks, so that lines keep their numbers. Strings stay: a module may be imported by its name. */
function withoutComments(text: string): string {
  const token = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
  return text.replace(token, (found) => (/^\/[/*]/.test(found) ? found.replace(/[^\n]/g, ' ') : found))
}
