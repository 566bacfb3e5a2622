import * as fastCheck from 'fast-check'
import { repeating, runSeed } from './seed.ts'

/**
 * fast-check with reproducible seeds: every run is seeded with SHOAL_TEST_SEED, or with a new seed that errors print.
 * Import it as `import * as fc from '…/support/property.ts'`; declarations here shadow those of fast-check.
 */
export * from 'fast-check'

/** Throws when the property does not hold, with the seed that reproduces the run. */
export function assert<Ts>(property: fastCheck.IAsyncProperty<Ts>, given?: fastCheck.Parameters<Ts>): Promise<void>
export function assert<Ts>(property: fastCheck.IProperty<Ts>, given?: fastCheck.Parameters<Ts>): void
export function assert<Ts>(
  property: fastCheck.IRawProperty<Ts>,
  given: fastCheck.Parameters<Ts> = {},
): Promise<void> | void {
  const parameters = { seed: runSeed, ...given }
  const fail = (error: unknown): never => {
    const message = error instanceof Error ? error.message : String(error)
    throw new Error(`${message}\n${repeating(parameters.seed)}`, { cause: error })
  }
  try {
    return fastCheck.assert(property, parameters)?.catch(fail)
  } catch (error) {
    fail(error)
  }
}

/** Checks a property. Returns the result with its seed. */
export function check<Ts>(
  property: fastCheck.IAsyncProperty<Ts>,
  given?: fastCheck.Parameters<Ts>,
): Promise<fastCheck.RunDetails<Ts>>
export function check<Ts>(property: fastCheck.IProperty<Ts>, given?: fastCheck.Parameters<Ts>): fastCheck.RunDetails<Ts>
export function check<Ts>(
  property: fastCheck.IRawProperty<Ts>,
  given: fastCheck.Parameters<Ts> = {},
): Promise<fastCheck.RunDetails<Ts>> | fastCheck.RunDetails<Ts> {
  return fastCheck.check(property, { seed: runSeed, ...given })
}
