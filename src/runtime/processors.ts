import { availableParallelism } from 'node:os'

/** Number of processors that this process may use. */
export function processors(): number {
  return availableParallelism()
}
