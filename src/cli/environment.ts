import { ShoalError } from '../base/errors.ts'

/** Names under which a value of the environment is looked for, the first one that is set wins. */
const names = {
  path: ['SHOAL_PATH', 'ACTYX_PATH'],
  logColor: ['SHOAL_LOG_COLOR', 'SHOAL_COLOR', 'ACTYX_LOG_COLOR', 'ACTYX_COLOR'],
  logJson: ['SHOAL_LOG_JSON', 'ACTYX_LOG_JSON'],
  logFilter: ['SHOAL_LOG', 'RUST_LOG'],
  memoryLimit: ['SHOAL_MEMORY_LIMIT'],
  rootPublicKey: ['SHOAL_ROOT_PUBLIC_KEY'],
} as const

/** The value of the environment, the names of the reference system included; an empty one counts as none. */
export function fromEnvironment(what: keyof typeof names): string | undefined {
  for (const name of names[what]) {
    const value = process.env[name]
    if (value !== undefined && value !== '') return value
  }
  return undefined
}

export const defaultFolder = './shoal-data'

export function dataFolder(option: string | undefined): string {
  // A shell variable that is not set, most likely: it must not mean the current folder.
  if (option === '') throw new ShoalError('ERR_INVALID_INPUT', '--working-dir is empty; it names the data folder.')
  return option ?? fromEnvironment('path') ?? defaultFolder
}
