/** Messages and bytes by kind. */
export class Traffic {
  readonly messages = new Map<string, number>()
  readonly bytes = new Map<string, number>()

  add(kind: string, bytes: number): void {
    this.messages.set(kind, (this.messages.get(kind) ?? 0) + 1)
    this.bytes.set(kind, (this.bytes.get(kind) ?? 0) + bytes)
  }

  clear(): void {
    this.messages.clear()
    this.bytes.clear()
  }

  get allBytes(): number {
    return sum(this.bytes)
  }

  get allMessages(): number {
    return sum(this.messages)
  }
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0)
}
