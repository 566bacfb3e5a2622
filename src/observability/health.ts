/** A component with a lifecycle state. */
export type ComponentName = 'API' | 'Admin' | 'Swarm' | 'Events'
export type ComponentState = 'starting' | 'started' | 'stopping' | 'failed'
/** The phase of the whole node. */
export type Phase = 'starting' | 'running' | 'stopping' | 'failed'

/** A reason why the readiness check fails. */
export interface Reason {
  /** A component, or the name of a problem. */
  readonly component: string
  readonly state: ComponentState
  readonly detail?: string
}

/**
 * Readiness of the node: the states of its components, and runtime problems like a full disk. A problem has a name that
 * users see (`Disk`, `Clock`) and one detail at a time.
 */
export class Health {
  readonly #components = new Map<ComponentName, Reason>()
  readonly #problems = new Map<string, string>()
  readonly #checks = new Map<string, () => string | undefined>()

  constructor(components: readonly ComponentName[]) {
    for (const component of components) this.set(component, 'starting')
  }

  set(component: ComponentName, state: ComponentState, detail?: string): void {
    this.#components.set(component, { component, state, ...(detail !== undefined && { detail }) })
  }

  /** The phase of the node, from the states of its components. */
  get phase(): Phase {
    const states = new Set([...this.#components.values()].map(({ state }) => state))
    return (['failed', 'stopping', 'starting'] as const).find((state) => states.has(state)) ?? 'running'
  }

  /** Adds a problem, or replaces its detail. It stays until it is resolved. */
  report(problem: string, detail: string): void {
    this.#problems.set(problem, detail)
  }

  resolve(problem: string): void {
    this.#problems.delete(problem)
  }

  /** Adds a health check that runs on each readiness request. It returns the detail of the problem, if there is one. */
  check(problem: string, check: () => string | undefined): void {
    this.#checks.set(problem, check)
  }

  /** All reasons why the node is not ready; empty when it is. */
  reasons(): Reason[] {
    const checked = [...this.#checks].flatMap(([problem, check]): [string, string][] => {
      const detail = check()
      return detail === undefined ? [] : [[problem, detail]]
    })
    return [
      ...[...this.#components.values()].filter(({ state }) => state !== 'started'),
      ...[...this.#problems, ...checked].map(
        ([component, detail]) => ({ component, state: 'failed', detail }) as const,
      ),
    ]
  }
}
