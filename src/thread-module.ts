/**
 * The module of a thread, in the folder of the module whose address is given: TypeScript in a checkout, JavaScript in the
 * package, where all modules stand in one folder.
 */
export function threadModule(name: string, besides: string): URL {
  return new URL(`./${name}.${besides.endsWith('.ts') ? 'ts' : 'js'}`, besides)
}
