export { decodeMessage, encodeMessage } from './message-codec.ts'
export type { ReplicatedLog } from './replicated-log.ts'
export { Replicator, type ReplicatorOptions, type Transport } from './replicator.ts'
export { swarmPort } from './swarm-port.ts'
