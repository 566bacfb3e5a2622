import type { Body, Fragment, Parameter } from '../shared-parts.ts'

/** The description of an operation, without what follows from the checks of its route. */
export interface Description {
  /** The method name in generated clients: stable, also when paths or texts change. */
  readonly operationId: string
  readonly summary: string
  readonly tag: 'authentication' | 'events' | 'node' | 'files' | 'blobs' | 'operations'
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  /** Responses by status; those of the common checks are added. */
  readonly responses: Readonly<Record<string, Body>>
}

/** Descriptions by method and path. */
export type Descriptions = Readonly<Record<string, Description>>

export const reference = (name: string): Fragment => ({ $ref: `#/components/schemas/${name}` })

export function json(description: string, schema: string, example: unknown): Body {
  return { description, content: { 'application/json': { schema: reference(schema), example } } }
}

export function text(description: string, type: string, example: string): Body {
  return { description, content: { [type]: { schema: { type: 'string' }, example } } }
}

/** A node in the examples. */
export const node = '.E61/.I4/kU70UgA1EsD2/2G2lEJ3VQM4FcP5/oS5m.'
export const invalid = json('The request is malformed or exceeds a limit.', 'Error', {
  code: 'ERR_BAD_REQUEST',
  message: 'Invalid request. missing field `data` at line 1 column 2',
})
export const unavailable = json(
  'The store is overloaded, the disk fails, or the node changes its topic or shuts down (then with `Retry-After`).',
  'Error',
  {
    code: 'ERR_SERVICE_OVERLOADED',
    message: 'Service overloaded. Channel towards event store is overloaded.',
  },
)
export const empty = { description: 'Done, or no content.' }
