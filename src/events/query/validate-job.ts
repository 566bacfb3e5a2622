import {
  AqlError,
  compiled,
  type Endpoint,
  featureProblem,
  featuresUsed,
  parseSteps,
  printSteps,
  type Steps,
} from '../../aql/index.ts'
import type { Clock } from '../../runtime/clock.ts'
import { type Job, type JobMaker, NdjsonWriter } from '../../store/reading/index.ts'
import type { ReadRequest } from './query-requests.ts'

/** A query, and the endpoint that it is meant for. */
export interface ValidateRequest extends ReadRequest {
  readonly endpoint: Endpoint
}

/** Validates a query without running it. It is a job because a long query takes several slices. */
class ValidateJob implements Job {
  readonly #steps: Steps<Record<string, unknown>>
  readonly #lines = new NdjsonWriter(1024)
  readonly #clock: Clock

  constructor(request: ValidateRequest, clock: Clock) {
    this.#clock = clock
    this.#steps = validation(request, clock)
  }

  /** The output is one line, written at the end. */
  readonly isFull = false
  begin(): void {}

  run(deadline: number): 'busy' | 'done' {
    do {
      const step = this.#steps.next()
      if (step.done !== true) continue
      this.#lines.line(JSON.stringify(step.value))
      return 'done'
    } while (this.#clock.steadyMs() < deadline)
    return 'busy'
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }
}

/** The canonical form and features of a query, or its error. */
function* validation({ query: text, endpoint }: ValidateRequest, clock: Clock): Steps<Record<string, unknown>> {
  try {
    const query = yield* parseSteps(text, { now: BigInt(clock.now()) })
    yield* compiled(query)
    const problem = yield* featureProblem(query, endpoint)
    const known = { canonical: yield* printSteps(query), features: yield* featuresUsed(query) }
    return problem === undefined ? { valid: true, ...known } : { valid: false, ...known, error: problem.message }
  } catch (error) {
    if (!(error instanceof AqlError)) throw error
    return { valid: false, error: error.detail, position: error.position }
  }
}

export const makeValidateJob: JobMaker = (_, request, clock) => new ValidateJob(request as ValidateRequest, clock)
