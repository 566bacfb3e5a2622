/** A JSON object of an OpenAPI document. */
export type Fragment = { readonly [key: string]: unknown }

/** The subset of OpenAPI that this document uses. */
export interface OpenApi {
  readonly openapi: string
  readonly info: Fragment & { readonly title: string; readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string; readonly description: string }[]
  /** By path and method. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Fragment>>; readonly securitySchemes: Fragment }
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  /** The alternatives to send a token; empty for operations without one. */
  readonly security: readonly Fragment[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Body
  /** By status. */
  readonly responses: Readonly<Record<string, Body>>
}

export interface Parameter {
  readonly name: string
  readonly in: string
  readonly required: boolean
  readonly description: string
  readonly schema: Fragment
  readonly example: string
}

/** The body of a request or response. */
export interface Body {
  readonly description?: string
  readonly required?: boolean
  /** By media type. */
  readonly content?: Readonly<Record<string, Content>>
}

export interface Content {
  readonly schema?: Fragment
  readonly example?: unknown
}
