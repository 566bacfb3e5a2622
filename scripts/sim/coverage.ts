import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { type CoverageException, coverageExceptions } from './coverage-exceptions.ts'

/** A branch of the rules that no seed has reached. */
export interface Unreached {
  readonly file: string
  readonly line: number
  /** Its source. */
  readonly text: string
  /** The line in which it begins. */
  readonly lineText: string
}

interface Range {
  readonly startOffset: number
  readonly endOffset: number
  readonly count: number
}

interface ScriptCoverage {
  readonly url: string
  readonly functions: readonly { readonly ranges: readonly Range[] }[]
}

const root = join(import.meta.dirname, '../..')
const rules = ['src/replication/', 'src/sync/']

/** Runs seeds, and returns the branches of the rules that none of them has reached. */
export async function measureCoverage(options: readonly string[]): Promise<Unreached[]> {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-coverage-'))
  try {
    const env = { ...process.env, NODE_V8_COVERAGE: folder }
    await promisify(execFile)(process.execPath, ['scripts/sim.ts', ...options], { cwd: root, env, maxBuffer: 2 ** 26 })
    const files = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')))
    return files.flatMap(({ result }: { result: ScriptCoverage[] }) => result).flatMap(unreachedOf)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function unreachedOf({ url, functions }: ScriptCoverage): Unreached[] {
  if (!url.startsWith('file:')) return []
  const file = relative(root, fileURLToPath(url))
  if (!rules.some((folder) => file.startsWith(folder))) return []
  const source = readFileSync(join(root, file), 'utf8')
  return unreachedRanges(functions.flatMap(({ ranges }) => ranges)).flatMap(({ startOffset, endOffset }) => {
    const text = source.slice(startOffset, endOffset)
    // After a return or throw there is nothing but closing braces.
    if (/^[\s{}();]*$/.test(text)) return []
    const line = source.slice(0, startOffset + text.search(/\S/)).split('\n').length
    return [{ file, line, text: text.trim(), lineText: (source.split('\n')[line - 1] ?? '').trim() }]
  })
}

/** The ranges that were never run, without those within another one. */
export function unreachedRanges(ranges: readonly Range[]): Range[] {
  const unreached = ranges.filter(({ count }) => count === 0)
  return unreached.filter(
    (range) => !unreached.some((other) => other !== range && isWithin(range, other) && !isWithin(other, range)),
  )
}

function isWithin(inner: Range, outer: Range): boolean {
  return inner.startOffset >= outer.startOffset && inner.endOffset <= outer.endOffset
}

/** Those without an exception, and the exceptions that no longer fit the source. */
export function coverageProblems(
  unreached: readonly Unreached[],
  exceptions: readonly CoverageException[] = coverageExceptions,
  sourceOf: (file: string) => string = (file) => readFileSync(join(root, file), 'utf8'),
): string[] {
  const isExcepted = ({ file, text, lineText }: Unreached): boolean =>
    exceptions.some((known) => isAt(file, known.file) && [text, lineText].some((start) => start.startsWith(known.text)))
  const isStale = ({ file, text }: CoverageException): boolean =>
    !filesIn(file).some((name) => sourceOf(name).includes(text))
  const stale = exceptions.filter(isStale)
  return [
    ...unreached.filter((at) => !isExcepted(at)).map(({ file, line, text }) => `${file}:${line}: ${firstLine(text)}`),
    ...stale.map(({ file, text }) => `${file}: the exception '${firstLine(text)}' no longer fits`),
  ]
}

/** Whether a file is the one of an exception, or in its folder. */
function isAt(file: string, place: string): boolean {
  return place.endsWith('/') ? file.startsWith(place) : file === place
}

function filesIn(place: string): string[] {
  if (!place.endsWith('/')) return [place]
  const names = readdirSync(join(root, place), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.ts')).map((name) => place + name)
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.slice(0, 100) ?? ''
}
