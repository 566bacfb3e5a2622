/** The acknowledged events, to be compared with the stored ones. */
export class Ledger {
  readonly #keys = new Set<string>()

  get size(): number {
    return this.#keys.size
  }

  /** Records the response to a publish request. */
  add(answer: unknown): void {
    const { data } = answer as { data: { stream: string; offset: number }[] }
    for (const { stream, offset } of data) {
      const key = `${stream}/${offset}`
      if (this.#keys.has(key)) throw new Error(`two publishes got the same key ${key}`)
      this.#keys.add(key)
    }
  }

  /** Compares the ledger with all events of the app. */
  async compare(url: string, token: string, appId: string): Promise<void> {
    const response = await fetch(`${url}/api/v2/events/query`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ query: `FROM appId(${appId})`, order: 'asc' }),
    })
    const lines = (await response.text()).trimEnd().split('\n')
    const events = lines.map((line) => JSON.parse(line) as { type: string; stream: string; offset: number })
    const stored = new Set(
      events.filter(({ type }) => type === 'event').map((event) => `${event.stream}/${event.offset}`),
    )
    const lost = [...this.#keys].filter((key) => !stored.has(key))
    const unacknowledged = [...stored].filter((key) => !this.#keys.has(key))
    if (lost.length > 0) throw new Error(`${lost.length} events were lost, ${lost[0]} among them`)
    if (unacknowledged.length > 0)
      throw new Error(`${unacknowledged.length} events were stored but not acknowledged, like ${unacknowledged[0]}`)
  }
}
