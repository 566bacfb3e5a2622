/** The last object of each kind. Each thread has its own. */
const samples = new Map<unknown, unknown>()

/**
 * Keeps an object that was made for some work until the next one of its kind. Code is compiled for the shape of the objects that it
 * works with; when a thread that rests collects its garbage and finds no object of that shape, it gives the code up as well, and the
 * next work begins as slowly as after a start. Whatever memory the object holds stays as well: it has to be little.
 */
export function keepSample(kind: unknown, sample: unknown): void {
  samples.set(kind, sample)
}
