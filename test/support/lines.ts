/** The lines of an answer, one by one as they come. */
export class Lines {
  readonly #reader: ReadableStreamDefaultReader<string>
  #rest = ''

  constructor({ body }: Response) {
    if (body === null) throw new Error('there is no body')
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** The next line, without its end. */
  async next(): Promise<string> {
    while (!this.#rest.includes('\n')) {
      const { done, value } = await this.#reader.read()
      if (done) throw new Error(`the answer has ended after ${this.#rest}`)
      this.#rest += value
    }
    const end = this.#rest.indexOf('\n')
    const line = this.#rest.slice(0, end)
    this.#rest = this.#rest.slice(end + 1)
    return line
  }

  /** The next line that is no keep-alive. */
  async nextFull(): Promise<string> {
    for (;;) {
      const line = await this.next()
      if (line !== '') return line
    }
  }

  /** Goes away. */
  async cancel(): Promise<void> {
    await this.#reader.cancel()
  }
}
