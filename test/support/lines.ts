/** Reads a streaming response line by line. */
export class Lines {
  readonly #reader: ReadableStreamDefaultReader<string>
  #rest = ''

  constructor({ body }: Response) {
    if (body === null) throw new Error('there is no body')
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader()
  }

  /** The next line, without its line break. */
  async next(): Promise<string> {
    while (!this.#rest.includes('\n')) {
      const { done, value } = await this.#reader.read()
      if (done) throw new Error(`the response has ended after ${this.#rest}`)
      this.#rest += value
    }
    const end = this.#rest.indexOf('\n')
    const line = this.#rest.slice(0, end)
    this.#rest = this.#rest.slice(end + 1)
    return line
  }

  /** The next line that is not a keep-alive. */
  async nextFull(): Promise<string> {
    for (;;) {
      const line = await this.next()
      if (line !== '') return line
    }
  }

  /** Disconnects. */
  async cancel(): Promise<void> {
    await this.#reader.cancel()
  }
}
