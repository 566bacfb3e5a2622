/** What the account of memory is when the node does not tell. */
const assumedBytes = 512 * 1024 * 1024
/** Longer than a node takes to answer when nobody attacks it. */
const answerMs = 3000

/** The account of what clients make the node hold, in megabytes. */
export interface Account {
  readonly limitMb: number
  /** What is charged to it now; undefined when the node does not tell. */
  readonly chargedMb: number | undefined
  /** Whether the node does not tell its limit, so that it is assumed. */
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

/** The value of a gauge in the Prometheus text format; the sum when there is one for each value of a label. */
export function gaugeIn(text: string, name: string): number | undefined {
  const samples = [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)`, 'gm'))]
  return samples.length === 0 ? undefined : samples.reduce((sum, [, value]) => sum + Number(value), 0)
}
