import { AqlError, checkFeatures, compile, type Endpoint, parseQuery, print, usedFeatures } from '../../aql/index.ts'
import { NdjsonWriter } from '../../store/log/index.ts'
import type { Job, JobMaker } from '../../store/threads/reader-host.ts'
import { nowMicros } from '../../time.ts'
import type { ReadRequest } from './requests.ts'

/** A query, and where it is to be sent to. */
export interface ValidateRequest extends ReadRequest {
  readonly endpoint: Endpoint
}

/** Looks at a query without running it. A long one takes its time, which only the thread that reads has. */
class ValidateJob implements Job {
  readonly #request: ValidateRequest
  readonly #lines = new NdjsonWriter(1024)

  constructor(request: ValidateRequest) {
    this.#request = request
  }

  run(): 'done' {
    this.#lines.line(JSON.stringify(validation(this.#request)))
    return 'done'
  }

  take(): Uint8Array<ArrayBuffer> {
    return this.#lines.written
  }
}

/** What the query says and uses, or what is wrong with it. */
function validation({ query: text, endpoint }: ValidateRequest): Record<string, unknown> {
  try {
    const query = parseQuery(text, { now: BigInt(nowMicros()) })
    compile(query)
    const problem = checkFeatures(query, endpoint)
    const known = { canonical: print(query), features: usedFeatures(query) }
    return problem === undefined ? { valid: true, ...known } : { valid: false, ...known, error: problem.message }
  } catch (error) {
    if (!(error instanceof AqlError)) throw error
    return { valid: false, error: error.detail, position: error.position }
  }
}

export const makeValidateJob: JobMaker = (_, request) => new ValidateJob(request as ValidateRequest)
