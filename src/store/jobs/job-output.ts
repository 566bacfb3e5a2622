/** The output of a job. The consumer may take ownership of the memory. */
export interface Piece {
  readonly id: number
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Receives the output of jobs. */
export interface JobOutput {
  /** A job was prepared: its request is valid. */
  started(id: number): void
  /** The output of one round, one piece per job; valid until this returns. */
  written(pieces: readonly Piece[]): void
  /** A job has ended, after its last output. */
  ended(id: number, outcome: { readonly error?: unknown }): void
}
