import { assert } from '../../base/assert.ts'
import { limits } from '../../base/limits.ts'
import { versionString } from '../../runtime/version.ts'
import type { Route, RouteMethod } from '../router.ts'
import { type Description, descriptions } from './descriptions.ts'
import { schemas } from './schemas.ts'
import type { Body, OpenApi, Operation } from './shared-parts.ts'

/** Generates the OpenAPI document: common responses from the checks of a route, the rest from its description. */
export function openApiDocument(routes: readonly Route[]): OpenApi {
  const paths: Record<string, Record<string, Operation>> = {}
  for (const [key, endpoint] of operationsOf(routes)) {
    const description = descriptions[key]
    assert(description !== undefined, `${key} is described`)
    const [method = '', path = ''] = key.split(' ')
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(description, endpoint) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'shoal',
      version: versionString,
      description: 'The API of a shoal node: events and files of a swarm, from the node on this machine.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    // Relative to the document first; an absolute URL for tools that read the document from a file.
    servers: [
      { url: '/', description: 'The node that serves this document.' },
      { url: 'http://localhost:4454', description: 'A node on this machine with its default port.' },
    ],
    paths,
    components: {
      schemas,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        query: { type: 'apiKey', in: 'query', name: 'access_token' },
      },
    },
  }
}

/** All operations under `/api/v2/`, by method and path. */
function operationsOf(routes: readonly Route[]): [string, RouteMethod][] {
  return routes
    .filter(({ path }) => path.startsWith('/api/v2/'))
    .flatMap(({ path, methods }) =>
      Object.entries(methods)
        .filter(([method]) => method !== 'HEAD')
        // A route for every method is described once, as GET.
        .map(([method, endpoint]): [string, RouteMethod] => [
          `${method.replace('*', 'GET')} ${described(path)}`,
          endpoint,
        ]),
    )
}

/** A route path as an OpenAPI path template. */
function described(path: string): string {
  return path.replace('/blob/*', '/blob/{app}/{path}').replace('/files/*', '/files/{address}')
}

function operation(
  { operationId, summary, tag, parameters, requestBody, responses }: Description,
  endpoint: RouteMethod,
): Operation {
  return {
    operationId,
    summary,
    tags: [tag],
    security: endpoint.authenticated ? [{ bearer: [] }, { query: [] }] : [],
    ...(parameters && { parameters }),
    ...(requestBody && { requestBody: { required: true, ...requestBody } }),
    responses: {
      ...responses,
      ...(endpoint.authenticated && {
        401: error('The token is missing, malformed or expired.', 'ERR_TOKEN_EXPIRED', 'Expired token.'),
      }),
      ...(endpoint.produces && {
        406: error(
          'The `Accept` header excludes the media type of the response.',
          'ERR_NOT_ACCEPTABLE',
          'Content with type …',
        ),
      }),
      ...(requestBody && {
        413: error(
          'The request body exceeds the size limit.',
          'ERR_PAYLOAD_TOO_LARGE',
          `Payload too large (${limits.bodyBytes + 1} > ${limits.bodyBytes}).`,
        ),
      }),
      ...(endpoint.consumes && {
        415: error(
          'The `Content-Type` of the request is not supported.',
          'ERR_UNSUPPORTED_MEDIA_TYPE',
          "The request's content-type is not supported.",
        ),
      }),
    },
  }
}

function error(description: string, code: string, message: string): Body {
  const schema = { $ref: '#/components/schemas/Error' }
  return { description, content: { 'application/json': { schema, example: { code, message } } } }
}
