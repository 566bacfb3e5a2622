export { adminService } from './admin-service.ts'
export { controlService } from './control-service.ts'
export { ControlSocket } from './control-socket.ts'
export type { Inspected, InspectedPeer } from './routes/index.ts'
