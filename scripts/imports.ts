import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'

/** The foundation: folders without domain knowledge, which all others may import. */
const foundation: readonly string[] = ['base', 'json', 'runtime', 'client-memory', 'fast-paths']

/**
 * The arrows of docs/architecture.md: the folders of src that a folder may import, besides the foundation. `aql`
 * imports none of them, so that it runs in a browser too.
 */
const arrows: Readonly<Record<string, readonly string[]>> = {
  base: [],
  json: ['base'],
  runtime: ['base'],
  'client-memory': ['base'],
  'fast-paths': ['base', 'runtime'],
  logging: [],
  observability: ['logging'],
  listening: ['observability'],
  identity: [],
  aql: [],
  settings: ['identity'],
  protocol: ['identity'],
  replication: ['protocol', 'identity'],
  facts: ['replication', 'identity'],
  store: ['replication', 'protocol', 'identity', 'settings', 'observability'],
  sync: ['replication', 'protocol', 'identity'],
  events: ['store', 'facts', 'protocol', 'aql', 'identity', 'settings', 'logging', 'observability'],
  files: ['store', 'events', 'facts', 'identity', 'settings', 'logging', 'observability'],
  swarm: ['store', 'sync', 'replication', 'protocol', 'identity', 'settings', 'logging', 'observability', 'listening'],
  api: ['events', 'files', 'aql', 'identity', 'settings', 'logging', 'observability', 'listening'],
  admin: ['api', 'events', 'files', 'store', 'identity', 'settings', 'logging', 'observability', 'listening'],
  node: [
    'admin',
    'api',
    'swarm',
    'events',
    'files',
    'store',
    'identity',
    'settings',
    'logging',
    'observability',
    'listening',
  ],
  cli: ['node', 'admin', 'store', 'events', 'aql', 'identity', 'settings', 'logging', 'listening'],
}

/** Entry points besides the `index.ts` of a folder: modules of threads and commands, which are loaded separately. */
const otherEntryPoints: readonly string[] = [
  'store/reading/index.ts',
  'store/linked/index.ts',
  'events/query/offline-query.ts',
  'admin/control-path.ts',
]

/** Parts of a folder that must not import each other: a port knows none of its implementations, nor these each other. */
const mustNotImportEachOther: Readonly<Record<string, readonly string[]>> = {
  'store/port': ['store/jobs', 'store/memory', 'store/sqlite', 'store/threads'],
  'store/jobs': ['store/memory', 'store/sqlite', 'store/threads'],
  'store/memory': ['store/sqlite', 'store/threads'],
  'store/sqlite': ['store/memory', 'store/threads'],
}

/** Pure folders: they import no module of Node and no package, so they cannot use files, threads or timers. */
const pure: readonly string[] = ['replication', 'sync', 'facts']

/** Restricts which folders of the foundation a folder may import. */
const narrowFoundation: Readonly<Record<string, readonly string[]>> = {
  aql: [],
  replication: ['base'],
  sync: ['base'],
  facts: ['base'],
}

/**
 * The forbidden imports below a source folder: against the arrows, of unknown folders, past the `index.ts` of a folder,
 * and cycles.
 */
export function importProblems(source: string): string[] {
  const files = sourceFiles(source)
  const faces = new Set(files.filter((file) => file.endsWith(`${sep}index.ts`)).map((file) => dirname(file)))
  const imports = new Map(files.map((file) => [file, importsOf(file)]))
  const checked = files.flatMap((file) => (imports.get(file) ?? []).map((imported) => ({ file, imported })))
  return [
    ...checked.flatMap(({ file, imported }) => arrowProblem(source, file, imported)),
    ...checked.flatMap(({ file, imported }) => faceProblem(source, faces, file, imported)),
    ...checked.flatMap(({ file, imported }) => apartProblem(source, file, imported)),
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

/** The files that a file imports: statically, types only, or dynamically. */
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

/** The folder of `src` that a file belongs to; undefined for a file directly in it. */
function folderOf(source: string, file: string): string {
  const [first = '', ...rest] = relative(source, file).split(sep)
  return rest.length === 0 ? '' : first
}

function arrowProblem(source: string, file: string, imported: string): string[] {
  const [from, to] = [folderOf(source, file), folderOf(source, imported)]
  const allowed = arrows[from]
  const name = relative(source, file)
  if (allowed === undefined) return [`${name}: the folder '${from}' has no place in the architecture`]
  if (from === to || allowed.includes(to)) return []
  if (!foundation.includes(from) && (narrowFoundation[from] ?? foundation).includes(to)) return []
  return [`${name}: '${from}' must not import '${to}' (${relative(source, imported)})`]
}

/** A folder with an `index.ts` is imported from outside only through that file. */
function faceProblem(source: string, faces: ReadonlySet<string>, file: string, imported: string): string[] {
  if (otherEntryPoints.includes(relative(source, imported).replaceAll(sep, '/'))) return []
  const name = `${relative(source, file)}: imports ${relative(source, imported)}`
  for (let folder = dirname(imported); folder !== source; folder = dirname(folder)) {
    if (file.startsWith(folder + sep)) return []
    if (faces.has(folder) && imported !== join(folder, 'index.ts'))
      return [`${name} past the face of ${relative(source, folder)}`]
  }
  return []
}

function apartProblem(source: string, file: string, imported: string): string[] {
  const isIn = (path: string, folder: string): boolean => path.startsWith(join(source, folder) + sep)
  const from = Object.keys(mustNotImportEachOther).find((folder) => isIn(file, folder))
  const to = from === undefined ? undefined : mustNotImportEachOther[from]?.find((folder) => isIn(imported, folder))
  return to === undefined ? [] : [`${relative(source, file)}: '${from}' must not import '${to}'`]
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
