import { bindDefaults, bindRules, checkDistinct, type Endpoints, onFreePorts, parseBinds } from '../node/index.ts'

/** Where a node listens, as options of a command. */
export interface BindOptions {
  readonly bindAdmin?: readonly string[]
  readonly bindSwarm?: readonly string[]
  readonly bindApi?: readonly string[]
  /** Whether the system picks all ports. */
  readonly random?: boolean
}

export function endpointsOf(options: BindOptions): Endpoints {
  const endpoints = {
    api: parseBinds(options.bindApi ?? [bindDefaults.api], bindRules.api),
    admin: parseBinds(options.bindAdmin ?? [bindDefaults.admin], bindRules.admin),
    swarm: parseBinds(options.bindSwarm ?? [bindDefaults.swarm], bindRules.swarm),
  }
  if (options.random !== true) {
    checkDistinct(endpoints)
    return endpoints
  }
  return { api: onFreePorts(endpoints.api), admin: onFreePorts(endpoints.admin), swarm: onFreePorts(endpoints.swarm) }
}
