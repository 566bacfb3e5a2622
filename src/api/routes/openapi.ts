import type { OpenApi } from '../openapi/shared-parts.ts'
import { type HttpResponse, jsonTextResponse } from '../response.ts'
import type { Route, RouteMethod } from '../router.ts'

/** The OpenAPI document and the API explorer, generated with the first request. */
export function openApiRoutes(routes: readonly Route[]): Route[] {
  const document = async (): Promise<OpenApi> => (await import('../openapi/document.ts')).openApiDocument(all)
  const json = once(async () => jsonTextResponse(200, JSON.stringify(await document())))
  const page = once(async () => (await import('../openapi/page/page.ts')).openApiPage(await document()))
  const all = [...routes, route('/api/v2/openapi.json', json), route('/api/v2/openapi', page)]
  return all
}

function route(path: string, handle: () => Promise<HttpResponse>): Route {
  const endpoint: RouteMethod = { authenticated: false, handle }
  return { path, methods: { GET: endpoint, HEAD: endpoint } }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined
  return () => {
    made ??= make().catch((error) => {
      made = undefined
      throw error
    })
    return made
  }
}
