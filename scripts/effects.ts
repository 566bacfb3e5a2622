import { readdirSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'

/** Modules below this folder may use the clock, timers and random numbers of the system. */
const runtime = 'runtime/'

/** Composition roots: only they import the implementations of the system, and pass them on. */
const roots: readonly string[] = [
  'node/node.ts',
  'cli/commands/',
  'files/thread/files-thread.ts',
  'events/query/query-thread.ts',
  'store/threads/calls/blob-thread.ts',
  'store/threads/folder-job/folder-job-thread.ts',
  'store/threads/verifier/verifier-thread.ts',
  'swarm/thread/swarm-thread.ts',
  'store/threads/reader/reader-thread.ts',
  'store/threads/writer/writer-thread.ts',
]

/** Uses of the system, by effect. Members of an injected object do not match. */
const effects: readonly (readonly [what: string, pattern: RegExp])[] = [
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
const systemImplementations = /\b(?:system(?:Clock|Timers|Random|Runtime)|nowMicros|processStartSeconds)\b/g

/**
 * Modules below a source folder that use the clock, timers or random numbers of the system, outside of `runtime`; and
 * modules other than the composition roots that import the implementations of the system.
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
  const own = effects.flatMap(([what, pattern]) =>
    [...code.matchAll(pattern)].map(
      ({ 0: found, index }) =>
        `${place(index)}: asks the system for ${what} (${found.trim()}) instead of being given it`,
    ),
  )
  const taken = isBelow(name, roots) ? [] : [...code.matchAll(systemImplementations)]
  return [
    ...own,
    ...taken.map(({ 0: found, index }) => `${place(index)}: takes ${found}, which is for composition roots only`),
  ]
}

/** Replaces comments with blanks, to keep line numbers. Strings are kept, because they may name imported modules. */
function withoutComments(text: string): string {
  const token = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
  return text.replace(token, (found) => (/^\/[/*]/.test(found) ? found.replace(/[^\n]/g, ' ') : found))
}
