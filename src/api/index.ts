export { authenticate } from './authentication.ts'
export type { Call } from './call.ts'
export { Connections } from './clients/index.ts'
export { Cors, SameOrigin } from './cors.ts'
export { Hosts } from './hosts.ts'
export { memberOf } from './members.ts'
export { ParseQueue } from './parse-queue.ts'
export { type HttpResponse, jsonResponse, type StreamedBody } from './response.ts'
export type { Route } from './router.ts'
export type { Blobs, SwarmInfo } from './routes/index.ts'
export {
  type ApiParts,
  adminHealthRoutes,
  apiRoutes,
  type EventParts,
  eventRoutes,
  fileRoutes,
} from './routes/index.ts'
export { HttpService, type ServerCertificate } from './server.ts'
export { EventSockets } from './socket/event-sockets.ts'
export { Websites } from './websites.ts'
