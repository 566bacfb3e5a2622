/** The assumed limit of the memory account if the node does not report it. */
const assumedBytes = 512 * 1024 * 1024
/** Timeout for metrics: longer than a node takes when it is not attacked. */
const answerMs = 3000

/** The account of client memory, in megabytes. */
export interface Account {
  readonly limitMb: number
  /** The current charge; undefined if the node does not report it. */
  readonly chargedMb: number | undefined
  /** Whether the limit is assumed, because the node does not report it. */
  readonly isAssumed: boolean
}

export async function accountOf(url: string): Promise<Account> {
  const text = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(answerMs) })).text()
  const limit = gaugeIn(text, 'shoal_client_memory_limit_bytes')
  const charged = gaugeIn(text, 'shoal_client_memory_bytes')
  return {
    limitMb: (limit ?? assumedBytes) / 1e6,
    chargedMb: charged === undefined ? undefined : charged / 1e6,
    isAssumed: limit === undefined,
  }
}

/** The value of a gauge in the Prometheus text format, summed over its labels. */
export function gaugeIn(text: string, name: string): number | undefined {
  const samples = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)`, 'gm'))]
  return samples.length === 0 ? undefined : samples.reduce((sum, [, value]) => sum + Number(value), 0)
}
