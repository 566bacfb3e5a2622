/** How long one kind of request took, in milliseconds; one that is not answered counts with the time until the end. */
export interface Timing {
  readonly count: number
  readonly p50: number
  readonly p99: number
}

/** What happened to a client that does nothing wrong while others attack. */
export interface BystanderReport {
  readonly publish: Timing
  readonly query: Timing
  readonly emptyQuery: Timing
  /** Answers 503 after which a retry succeeded in time, and requests whose retries did not. */
  readonly mended: number
  readonly unmended: number
  /** All other errors, in the order in which they came. */
  readonly errors: readonly string[]
  /** What is wrong with the subscription; undefined when it is alive and has got every event. */
  readonly subscriptionProblem: string | undefined
  /** What is wrong with it when the attack is over; undefined when it can publish and query again. */
  readonly afterwardsProblem: string | undefined
}

/** What a bystander needs to know. */
export interface BystanderTask {
  readonly url: string
  readonly token: string
  /** Whether it queries, or only publishes and subscribes. */
  readonly queries: boolean
  /** Milliseconds between two requests of a kind. */
  readonly pauseMs: number
}

export type ToBystander = { readonly type: 'start'; readonly task: BystanderTask } | { readonly type: 'end' }
export type FromBystander = { readonly type: 'ready' } | { readonly type: 'report'; readonly report: BystanderReport }
