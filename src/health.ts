/** A part of the node that can be up or not. */
export type ComponentName = 'API' | 'Admin' | 'Swarm' | 'Events'
export type ComponentState = 'starting' | 'started' | 'stopping' | 'failed'

/** Why the node is not ready. */
export interface Reason {
  readonly component: ComponentName
  readonly state: ComponentState
  readonly detail?: string
}

/** What every part of the node says of itself. */
export class Health {
  readonly #components = new Map<ComponentName, Reason>()

  constructor(components: readonly ComponentName[]) {
    for (const component of components) this.set(component, 'starting')
  }

  set(component: ComponentName, state: ComponentState, detail?: string): void {
    this.#components.set(component, { component, state, ...(detail !== undefined && { detail }) })
  }

  /** What keeps the node from doing its work; nothing when it is ready. */
  reasons(): Reason[] {
    return [...this.#components.values()].filter(({ state }) => state !== 'started')
  }
}
