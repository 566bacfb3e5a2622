import type { SwarmSettings } from './thread-messages.ts'

/** Applies some of the settings. */
export interface SettingStep {
  readonly of: readonly (keyof SwarmSettings)[]
  readonly apply: (settings: SwarmSettings) => void | Promise<void>
}

/**
 * Applies changed settings, each independently of the others: one that fails is reported, the others still apply, and
 * the next change of any setting tries it again.
 */
export class SettingSteps {
  readonly #steps: readonly SettingStep[]
  readonly #onFailure: (error: unknown) => void
  /** The values that each step has applied. */
  readonly #applied = new Map<SettingStep, string>()

  /** @param settings those in use already */
  constructor(steps: readonly SettingStep[], settings: SwarmSettings, onFailure: (error: unknown) => void) {
    this.#steps = steps
    this.#onFailure = onFailure
    for (const step of steps) this.#applied.set(step, valuesOf(step, settings))
  }

  apply(settings: SwarmSettings): void {
    for (const step of this.#steps) {
      const values = valuesOf(step, settings)
      if (this.#applied.get(step) === values) continue
      this.#applied.set(step, values)
      this.#attempt(step, settings).catch((error: unknown) => {
        if (this.#applied.get(step) === values) this.#applied.delete(step)
        this.#onFailure(error)
      })
    }
  }

  async #attempt({ apply }: SettingStep, settings: SwarmSettings): Promise<void> {
    await apply(settings)
  }
}

function valuesOf({ of }: SettingStep, settings: SwarmSettings): string {
  return JSON.stringify(of.map((name) => settings[name]))
}
