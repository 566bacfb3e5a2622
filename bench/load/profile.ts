/** What has to hold for a figure of shoal. A profile has the goals as data, `goals.ts` evaluates them. */
export type Check =
  /** Relative to the reference node. A time may instead be within some milliseconds of that on an empty store. */
  | { readonly kind: 'ratio'; readonly is: '≤' | '≥'; readonly value: number; readonly orWithinMs?: number }
  /** Relative to another figure of shoal in the same round. */
  | { readonly kind: 'own'; readonly is: '≤' | '≥'; readonly value: number; readonly of: string }
  /** The figure itself. */
  | { readonly kind: 'absolute'; readonly is: '≤' | '≥'; readonly value: number; readonly unit: string }

/** A measuring program and what is expected of its figures. */
export interface Profile {
  readonly name: string
  /** The file in `bench/`. */
  readonly program: string
  /** Whether the program measures a data folder. */
  readonly measuresDisk: boolean
  /** By figure: the query of the program, for an empty store. */
  readonly emptyStoreQueries: Readonly<Record<string, EmptyStoreQuery>>
  /** The goals of a run with this number of events, by figure: all checks of a figure must hold. */
  goals(events: number): Readonly<Record<string, readonly Check[]>>
}

export interface EmptyStoreQuery {
  readonly order: 'asc' | 'desc'
  readonly query: string
}

/** The figures of one run of a program by name. NaN: the node refused the query. */
export type Figures = Readonly<Record<string, number>>

export const ratioAtMost = (value: number): Check => ({ kind: 'ratio', is: '≤', value })
export const ratioAtLeast = (value: number): Check => ({ kind: 'ratio', is: '≥', value })
export const ratioOrWithin = (value: number, orWithinMs: number): Check => ({
  kind: 'ratio',
  is: '≤',
  value,
  orWithinMs,
})

/** Whether less of a figure is better. */
export function isLessBetter(figure: string): boolean {
  return /_ms(_|$)|bytes_per_event$|^(rss|memory)_mb$/.test(figure)
}
