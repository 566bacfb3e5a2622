import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')

/** Collects whatever nobody holds any more, for tests of what is held. */
export const collectGarbage = runInNewContext('gc') as () => void
