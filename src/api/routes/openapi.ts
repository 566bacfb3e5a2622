import { type Answer, jsonTextAnswer } from '../answer.ts'
import type { Endpoint, Route } from '../router.ts'

/** The description of these routes, for programs; it is made when somebody asks for it. */
export function openApiRoutes(routes: readonly Route[]): Route[] {
  let made: Promise<string> | undefined
  const answer = async (): Promise<Answer> => {
    made ??= import('../openapi/document.ts').then(({ openApiDocument }) => JSON.stringify(openApiDocument(all)))
    return jsonTextAnswer(200, await made)
  }
  const endpoint: Endpoint = { token: false, answer }
  const all = [...routes, { path: '/api/v2/openapi.json', methods: { GET: endpoint, HEAD: endpoint } }]
  return all
}
