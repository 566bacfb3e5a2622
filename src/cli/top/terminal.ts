const endCharacters = ['q', 'Q', '\x03', '\x04']

/** The alternate screen of a terminal, which is redrawn in place and left by `close`. */
export class Terminal {
  readonly #input: NodeJS.ReadStream
  readonly #output: NodeJS.WriteStream
  readonly #ended = Promise.withResolvers<void>()
  readonly #end = (): void => this.#ended.resolve()
  readonly #typed = (text: Buffer): void => {
    // In raw mode Ctrl+C and Ctrl+D are characters.
    if (endCharacters.some((character) => text.includes(character))) this.#end()
  }

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream) {
    this.#input = input
    this.#output = output
    output.write('\x1b[?1049h\x1b[?25l')
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, this.#end)
    if (input.isTTY !== true) return
    input.setRawMode(true)
    input.on('data', this.#typed)
  }

  /** Resolves after q, Ctrl+C, Ctrl+D or a signal to stop. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  get size(): { readonly columns: number; readonly rows: number } {
    return { columns: this.#output.columns || 80, rows: this.#output.rows || 24 }
  }

  draw(lines: readonly string[]): void {
    this.#output.write(`\x1b[H${lines.map((line) => `${line}\x1b[K`).join('\r\n')}\x1b[J`)
  }

  close(): void {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, this.#end)
    if (this.#input.isTTY === true) {
      this.#input.off('data', this.#typed).pause()
      this.#input.setRawMode(false)
    }
    this.#output.write('\x1b[?25h\x1b[?1049l')
  }
}
