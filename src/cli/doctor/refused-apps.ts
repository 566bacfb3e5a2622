/** Maximum number of listed apps. */
const shownApps = 20

/** Finds in the log of a node the apps whose last request for a token was refused. */
export class RefusedApps {
  readonly #reasons = new Map<string, string>()

  /** Adds a log line, as JSON. Lines of other targets are skipped. */
  add(line: string): void {
    const message = authMessage(line)
    const [, issued] = /^(?:token|more tokens) issued for (\S+)/.exec(message) ?? []
    if (issued !== undefined) this.#reasons.delete(issued)
    const [, appId, reason] = /^no token for (\S+)(?: [^:]*)?: (.*)$/s.exec(message) ?? []
    if (appId === undefined || reason === undefined) return
    // The newest last.
    this.#reasons.delete(appId)
    this.#reasons.set(appId, reason)
  }

  get refused(): { readonly appId: string; readonly reason: string }[] {
    return [...this.#reasons].slice(-shownApps).map(([appId, reason]) => ({ appId, reason }))
  }
}

function authMessage(line: string): string {
  try {
    const record = JSON.parse(line) as { target?: unknown; message?: unknown } | null
    return record?.target === 'AUTH' && typeof record.message === 'string' ? record.message : ''
  } catch {
    // Not a log line: an empty line keeps the connection alive.
    return ''
  }
}
