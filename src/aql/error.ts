/** A rejected query: `syntax` when it does not parse, `static` when it parses but can never run. */
export class AqlError extends Error {
  override readonly name = 'AqlError'
  readonly kind: 'syntax' | 'static'
  /** Human-readable message. That of a syntax error has several lines and begins with a blank. */
  readonly detail: string
  /** Position in the query text, in UTF-16 code units. */
  readonly position: number

  constructor(kind: 'syntax' | 'static', detail: string, position: number) {
    super(detail)
    this.kind = kind
    this.detail = detail
    this.position = position
  }
}
