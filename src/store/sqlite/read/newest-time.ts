/** How new the newest of some events is. */
export interface NewestTime {
  /** From this offset on they were looked at. */
  readonly first: number
  /** Microseconds since 1970. */
  readonly time: number
}
