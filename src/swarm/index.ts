export { swarmPort } from './port.ts'
