/** Kinds of problems of a store after a kill. */
export const problemKinds = {
  lost: 'acknowledged, and gone',
  doubled: 'there more than once',
  reordered: 'not in the place, or not with the timestamps, that were acknowledged',
  changed: 'with other contents',
  torn: 'a part of a request without the rest',
  unexpected: 'never sent, or gone before',
  returned: 'removed, and still or again there',
  left: 'removed, and still in the files',
  verify: 'found by verify',
  unreadable: 'cannot be opened or read',
  failed: 'refused by the store',
} as const

export type ProblemKind = keyof typeof problemKinds

const textsKept = 20

/** Counts problems, and keeps descriptions of the first ones. */
export class Problems {
  readonly counts = new Map<ProblemKind, number>()
  readonly texts: string[] = []

  get total(): number {
    return this.counts.values().reduce((sum, count) => sum + count, 0)
  }

  add(kind: ProblemKind, text: string, count = 1): void {
    this.counts.set(kind, this.count(kind) + count)
    if (this.texts.length < textsKept) this.texts.push(`${kind}: ${text}`)
  }

  count(kind: ProblemKind): number {
    return this.counts.get(kind) ?? 0
  }

  addAll(others: Problems): void {
    for (const [kind, count] of others.counts) this.counts.set(kind, this.count(kind) + count)
    this.texts.push(...others.texts.slice(0, textsKept - this.texts.length))
  }
}
