export { LinkedLog } from '../threads/link/linked-log.ts'
export type { LogLink } from '../threads/link/log-link.ts'
