import * as fastCheck from 'fast-check'
import { repeating, runSeed } from './seed.ts'

/**
 * fast-check with seeds that can be given: every run follows from SHOAL_TEST_SEED, or from a new seed, which an error says.
 * Import it as `import * as fc from '…/support/property.ts'`; what is declared here hides what is exported first.
 */
export * from 'fast-check'

/** Throws when the property does not hold, with the seed that repeats the run. */
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

/** Answers whether the property holds, and with which seed that was found. */
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
