export type { ApiOptions } from './api-service.ts'
export { bindDefaults, bindRules, checkDistinct, onFreePorts, parseBinds } from './bind.ts'
export type { Addresses, Endpoints } from './listeners.ts'
export { Node, type NodeOptions, type StopReason } from './node.ts'
