export { controlService } from './control-service.ts'
export { ControlSocket } from './control-socket.ts'
