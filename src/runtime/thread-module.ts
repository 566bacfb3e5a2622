/**
 * The URL of a worker thread's module, relative to the module `beside`: TypeScript in a checkout, JavaScript in the
 * package, where the bundler puts all modules into one folder.
 */
export function threadModule(path: string, beside: string): URL {
  if (beside.endsWith('.ts')) return new URL(`./${path}.ts`, beside)
  return new URL(`./${path.split('/').at(-1)}.js`, beside)
}
