export { Connection, type ConnectionProtocol } from './connection.ts'
export { type Client, Connections, type ConnectionsOptions } from './connections.ts'
