export { swarmPort } from './swarm-port.ts'
