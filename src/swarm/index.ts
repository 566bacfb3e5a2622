export { OwnStreamsGate } from './own-streams-gate.ts'
export { swarmPort } from './swarm-port.ts'
