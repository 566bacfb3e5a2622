export { Connection, type ConnectionUse } from './connection.ts'
export { type Client, Connections, type ConnectionsOptions } from './connections.ts'
