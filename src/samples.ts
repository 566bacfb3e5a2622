/**
 * Objects that were made for some work, the last one of each kind. Code is compiled for the shape of the objects that it works
 * with; when a thread that rests collects its garbage and finds no object of that shape, it gives the code up as well, and the
 * next work begins as slowly as after a start. Whatever memory an object holds stays with it, so that has to be little.
 */
export class Samples<Kind> {
  readonly #kept = new Map<Kind, unknown>()

  /** Keeps an object in the place of the last one of its kind. */
  keep(kind: Kind, sample: unknown): void {
    this.#kept.set(kind, sample)
  }
}
