import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

/**
 * The arrows of docs/architecture.md: which folder of src may import which. Files directly in src serve everybody and
 * import only each other. `aql` imports nothing of ours, so that it runs in a browser too.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  '.': [],
  log: [],
  identity: [],
  aql: [],
  settings: ['identity'],
  protocol: ['identity'],
  replication: ['protocol', 'identity'],
  store: ['replication', 'protocol', 'identity', 'settings'],
  events: ['store', 'protocol', 'aql', 'identity', 'settings', 'log'],
  files: ['store', 'events', 'identity', 'settings', 'log'],
  swarm: ['store', 'protocol', 'identity', 'settings', 'log'],
  api: ['events', 'files', 'aql', 'identity', 'settings', 'log'],
  node: ['api', 'swarm', 'events', 'files', 'store', 'identity', 'settings', 'log'],
  cli: ['node', 'store', 'events', 'aql', 'identity', 'settings', 'log'],
}

/** The files directly in src that a folder may import, where that is not all of them. */
const rootFiles: Readonly<Record<string, readonly string[]>> = {
  aql: [],
  replication: ['assert.ts', 'clock-error.ts', 'errors.ts', 'limits.ts', 'time.ts'],
}

/** Folders of pure rules: they import no module of Node and no package, so neither files nor threads nor timers. */
const pure: readonly string[] = ['replication']

/** What is wrong with the imports below a source folder: arrows in the wrong direction, unknown folders, cycles. */
export function importProblems(source: string): string[] {
  const files = sourceFiles(source)
  const imports = new Map(files.map((file) => [file, importsOf(file)]))
  return [
    ...files.flatMap((file) => (imports.get(file) ?? []).flatMap((imported) => arrowProblem(source, file, imported))),
    ...files.flatMap((file) => purityProblems(source, file)),
    ...cycleProblems(source, imports),
  ]
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))
    .sort()
}

/** The files that a file imports, statically, for types or on demand. */
function importsOf(file: string): string[] {
  return specifiersIn(file)
    .filter(isRelative)
    .map((specifier) => resolve(dirname(file), specifier))
}

function specifiersIn(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'([^'\s]+)'/g)].map(([, specifier = '']) => specifier)
}

function isRelative(specifier: string): boolean {
  return /^\.{1,2}\//.test(specifier)
}

function folderOf(source: string, file: string): string {
  const [first = '', ...rest] = relative(source, file).split(sep)
  return rest.length === 0 ? '.' : first
}

function arrowProblem(source: string, file: string, imported: string): string[] {
  const [from, to] = [folderOf(source, file), folderOf(source, imported)]
  const allowed = arrows[from]
  const name = relative(source, file)
  if (allowed === undefined) return [`${name}: the folder '${from}' has no place in the architecture`]
  if (from === to || allowed.includes(to)) return []
  const target = relative(source, imported)
  if (to === '.' && (rootFiles[from]?.includes(target) ?? true)) return []
  return [`${name}: '${from}' must not import '${to}' (${target})`]
}

function purityProblems(source: string, file: string): string[] {
  const from = folderOf(source, file)
  if (!pure.includes(from)) return []
  const outside = specifiersIn(file).filter((specifier) => !isRelative(specifier))
  return outside.map((specifier) => `${relative(source, file)}: '${from}' must not import '${specifier}'`)
}

function cycleProblems(source: string, imports: ReadonlyMap<string, readonly string[]>): string[] {
  const problems: string[] = []
  const finished = new Set<string>()
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      const cycle = [...path.slice(path.indexOf(file)), file].map((step) => relative(source, step))
      problems.push(`cycle: ${cycle.join(' → ')}`)
      return
    }
    if (finished.has(file)) return
    for (const imported of imports.get(file) ?? []) visit(imported, [...path, file])
    finished.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
  return problems
}
