/** What a store remembers about the wall clock of its node, so that a later start knows the ages of own events. */
export interface RememberedClock {
  /** What was last saved; undefined if nothing was. */
  clockRecord(): Promise<string | undefined>
  saveClockRecord(record: string): Promise<void>
}
