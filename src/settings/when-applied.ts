/** The settings that a running node applies by restarting parts of itself; it applies all others at once. */
const byRestart: ReadonlySet<string> = new Set(['/swarm/swarmKey', '/swarm/topic'])

/** The changed paths of a document, by how they take effect. */
export interface Applied {
  readonly live: readonly string[]
  /** Applied by restarting the swarm or all parts of the topic; of a stopped node, by its next start. */
  readonly restart: readonly string[]
}

/** How a running node applies a change. What it does is in `src/node`. */
export function whenApplied(paths: readonly string[]): Applied {
  return {
    live: paths.filter((path) => !byRestart.has(path)),
    restart: paths.filter((path) => byRestart.has(path)),
  }
}
