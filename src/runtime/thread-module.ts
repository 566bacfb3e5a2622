/**
 * The module of a worker thread, at a path beside the module whose address is given: TypeScript in a checkout, JavaScript
 * in the package, where all modules are in one folder.
 */
export function threadModule(path: string, beside: string): URL {
  if (beside.endsWith('.ts')) return new URL(`./${path}.ts`, beside)
  return new URL(`./${path.split('/').at(-1)}.js`, beside)
}
