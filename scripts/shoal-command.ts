import { join } from 'node:path'

/** The folder of the package to run: the one that was built, or the checkout. */
export const packageFolder = process.env['BUILT_PACKAGE'] ?? join(import.meta.dirname, '..')

/** The file of the command `shoal`. */
export const shoalCommand = join(packageFolder, 'bin/shoal')
