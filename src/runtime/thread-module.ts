/**
 * The URL of a worker thread's module, relative to the module at `base`: TypeScript in a checkout, JavaScript in the
 * package, where the bundler puts all modules into one folder.
 */
export function threadModule(path: string, base: string): URL {
  if (base.endsWith('.ts')) return new URL(`./${path}.ts`, base)
  return new URL(`./${path.split('/').at(-1)}.js`, base)
}
