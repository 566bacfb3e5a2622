/** Latencies of one kind of request in milliseconds. A pending request counts with the time until the end. */
export interface Timing {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

/** The observations of a well-behaved client during an attack. */
export interface BystanderReport {
  readonly publish: Timing
  readonly query: Timing
  readonly emptyQuery: Timing
  /** Responses 503 after which a retry succeeded in time, and requests whose retries failed. */
  readonly recovered: number
  readonly unrecovered: number
  /** All other errors, in order. */
  readonly errors: readonly string[]
  /** The problem of the subscription; undefined if it is open and has received every event. */
  readonly subscriptionProblem: string | undefined
  /** The problem after the attack; undefined if publishing and querying work. */
  readonly afterwardsProblem: string | undefined
}

/** The parameters of a bystander. */
export interface BystanderTask {
  readonly url: string
  readonly token: string
  /** Whether it queries, or only publishes and subscribes. */
  readonly queries: boolean
  /** Pause between two requests of a kind in milliseconds. */
  readonly pauseMs: number
}

export type ToBystander = { readonly type: 'start'; readonly task: BystanderTask } | { readonly type: 'end' }
export type FromBystander = { readonly type: 'ready' } | { readonly type: 'report'; readonly report: BystanderReport }
