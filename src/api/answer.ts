import type { ShoalError } from '../base/errors.ts'

/** Pieces of an answer that are sent as the client takes them. Whoever makes them is told when nobody wants them any more. */
export interface Pieces extends AsyncIterable<Uint8Array> {
  /** Bytes that making them takes up, beside what waits to be sent. */
  readonly heldBytes?: number
  cancel(): void
  /** Is told when a piece that is not small is on its way: nobody looks at its memory any more. */
  sent?(piece: Uint8Array): void
}

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | Pieces
  /** Of a refusal: the code of its error, for the log. */
  readonly refusal?: string
  /** Is told when nobody looks at the memory of a body of bytes any more; of one that is small, nobody is. */
  sent?(): void
}

/** An answer is about now: only what says otherwise may be kept by anyone. */
const uncached = { 'cache-control': 'no-store' }

export function jsonAnswer(status: number, value: unknown): Answer {
  return jsonTextAnswer(status, JSON.stringify(value))
}

/** An answer whose JSON text is there already. */
export function jsonTextAnswer(status: number, body: string | Uint8Array): Answer {
  return { status, headers: { 'content-type': 'application/json', ...uncached }, body }
}

export function textAnswer(body: string, cacheControl = 'no-store'): Answer {
  return {
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': cacheControl },
    body,
  }
}

export function emptyAnswer(status: number): Answer {
  return { status, headers: uncached, body: '' }
}

export function errorAnswer(error: ShoalError): Answer {
  return { ...jsonAnswer(error.status, error), refusal: error.code }
}

export function isStream(body: Answer['body']): body is Pieces {
  return typeof body === 'object' && Symbol.asyncIterator in body
}
