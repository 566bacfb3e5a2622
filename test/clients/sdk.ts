import { Actyx, type ActyxOpts } from '@actyx/sdk'
import type { TestScope } from '../support/folder.ts'
import { until } from '../support/process.ts'
import type { ClientNode } from './node.ts'

export const manifest = { appId: 'com.example.clients', displayName: 'Clients', version: '1.0.0' }

/** Connects the SDK to a node. */
export async function connected(scope: TestScope, node: ClientNode, options: ActyxOpts = {}): Promise<Actyx> {
  const actyx = await Actyx.of(manifest, { ...node.address, ...options })
  scope.after(() => actyx.dispose())
  return actyx
}

/** The numbers from 0 to `count` - 1. */
export function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
}

/** Collects the arguments of callbacks, and waits for a condition on them. */
export class Collected<T> {
  readonly items: T[] = []
  #problem: unknown

  readonly add = (item: T): void => {
    this.items.push(item)
  }

  readonly fail = (problem: unknown): void => {
    this.#problem = problem ?? new Error('the subscription ended')
  }

  /** Waits until the items meet the condition. */
  until(isEnough: (items: readonly T[]) => boolean): Promise<readonly T[]> {
    return until(
      () => {
        if (this.#problem !== undefined) throw this.#problem
        return isEnough(this.items) ? this.items : undefined
      },
      () => `timed out with ${JSON.stringify(this.items).slice(0, 2000)}`,
    )
  }

  async ofLength(count: number): Promise<readonly T[]> {
    return await this.until(({ length }) => length >= count)
  }
}
