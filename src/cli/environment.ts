import { ShoalError } from '../base/errors.ts'

/** Environment variables by meaning; the first one that is set wins. */
const names = {
  path: ['SHOAL_PATH', 'ACTYX_PATH'],
  logColor: ['SHOAL_LOG_COLOR', 'SHOAL_COLOR', 'ACTYX_LOG_COLOR', 'ACTYX_COLOR'],
  logJson: ['SHOAL_LOG_JSON', 'ACTYX_LOG_JSON'],
  logFilter: ['SHOAL_LOG', 'RUST_LOG'],
  memoryLimit: ['SHOAL_MEMORY_LIMIT'],
  rootPublicKey: ['SHOAL_ROOT_PUBLIC_KEY'],
  standalone: ['SHOAL_STANDALONE'],
  identity: ['SHOAL_IDENTITY', 'AX_IDENTITY'],
} as const

/** Reads an environment variable, by our name or that of the reference system. An empty value counts as unset. */
export function fromEnvironment(what: keyof typeof names): string | undefined {
  for (const name of names[what]) {
    const value = process.env[name]
    if (value !== undefined && value !== '') return value
  }
  return undefined
}

export const defaultFolder = './shoal-data'

export function dataFolder(option: string | undefined): string {
  // Most likely an unset shell variable, which must not mean the current folder.
  if (option === '')
    throw new ShoalError('ERR_INVALID_INPUT', '--working-dir is empty. Allowed: the path of the data folder.')
  return option ?? fromEnvironment('path') ?? defaultFolder
}
