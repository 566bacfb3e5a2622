/** Decides whether own events may be appended: other nodes may have more of the own streams. */
export interface PublishGate {
  readonly isOpen: boolean
  /** How often it has been opened. Own streams may be longer since, or abandoned. */
  readonly openings: number
  /** The numbers of own streams that must not be continued, although nothing waits any more. */
  readonly abandoned: readonly number[]
  /** Waits until own events may be appended. Rejects after a while, with the reason, and when the gate is closed. */
  wait(): Promise<void>
  /** Fails everything that waits. */
  close(): void
}
