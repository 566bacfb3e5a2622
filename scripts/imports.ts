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
  store: ['protocol', 'identity', 'settings'],
  events: ['store', 'protocol', 'aql', 'identity', 'settings', 'log'],
  files: ['store', 'events', 'identity', 'settings', 'log'],
  swarm: ['store', 'protocol', 'identity', 'settings', 'log'],
  api: ['events', 'files', 'aql', 'identity', 'settings', 'log'],
  node: ['api', 'swarm', 'events', 'files', 'store', 'identity', 'settings', 'log'],
  cli: ['node', 'store', 'events', 'aql', 'identity', 'settings', 'log'],
}

/** What is wrong with the imports below a source folder: arrows in the wrong direction, unknown folders, cycles. */
export function importProblems(source: string): string[] {
  const files = sourceFiles(source)
  const imports = new Map(files.map((file) => [file, importsOf(file)]))
  return [
    ...files.flatMap((file) => (imports.get(file) ?? []).flatMap((imported) => arrowProblem(source, file, imported))),
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
  const text = readFileSync(file, 'utf8')
  const specifiers = [...text.matchAll(/(?:\bfrom\s+|\bimport\s*\(?\s*)'(\.{1,2}\/[^']+)'/g)].map(
    ([, path = '']) => path,
  )
  return specifiers.map((specifier) => resolve(dirname(file), specifier))
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
  if (to === '.' && from !== 'aql') return []
  return [`${name}: '${from}' must not import '${to}' (${relative(source, imported)})`]
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
