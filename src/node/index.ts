export type { ApiOptions } from './api-service.ts'
export { bindDefaults, bindRules, onFreePorts, parseBinds } from './bind.ts'
export type { Addresses, Endpoints } from './listeners.ts'
export { Node, type NodeOptions } from './node.ts'
