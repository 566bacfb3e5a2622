/** What is wrong with a text: `syntax` when it is no query at all, `static` when it is one that can never run. */
export class AqlError extends Error {
  override readonly name = 'AqlError'
  readonly kind: 'syntax' | 'static'
  /** What is wrong, for people. That of a syntax error has several lines and begins with a blank. */
  readonly detail: string
  /** Where it is wrong, in UTF-16 units from the beginning. */
  readonly position: number

  constructor(kind: 'syntax' | 'static', detail: string, position: number) {
    super(detail)
    this.kind = kind
    this.detail = detail
    this.position = position
  }
}
