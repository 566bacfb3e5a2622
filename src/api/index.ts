export { adminRoutes, apiRoutes } from './routes.ts'
export { serve } from './server.ts'
