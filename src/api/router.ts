import type { App } from '../identity/index.ts'
import type { Call } from './call.ts'
import type { JsonKind } from './negotiation.ts'
import type { HttpResponse } from './response.ts'

interface Rules {
  /** The media type of the response, checked against `Accept`. Without it, `Accept` is not checked. */
  readonly produces?: string
  /** The required type of the request body. */
  readonly consumes?: JsonKind
}

/**
 * The handler of a method of a route, and the checks before it. An authenticated one gets the app that the server has
 * found: on the API by a token, on the admin port by a session, on the control socket the operator.
 */
export type RouteMethod =
  | (Rules & { readonly authenticated: false; handle(call: Call): HttpResponse | Promise<HttpResponse> })
  | (Rules & { readonly authenticated: true; handle(call: Call, app: App): HttpResponse | Promise<HttpResponse> })

export interface Route {
  /** An exact path, or a prefix that ends with `/*`. */
  readonly path: string
  /** Handlers by method; `*` matches every method. */
  readonly methods: Readonly<Record<string, RouteMethod>>
}

/** Finds the route of a path. */
export class Router {
  readonly #exact: ReadonlyMap<string, Route>
  readonly #prefixes: readonly { readonly prefix: string; readonly route: Route }[]

  constructor(routes: readonly Route[]) {
    const isPrefix = ({ path }: Route) => path.endsWith('/*')
    this.#exact = new Map(routes.filter((route) => !isPrefix(route)).map((route) => [route.path, route]))
    this.#prefixes = routes.filter(isPrefix).map((route) => ({ prefix: route.path.slice(0, -1), route }))
  }

  /** The route of a path. One trailing slash is ignored. */
  find(path: string): Route | undefined {
    const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
    return (
      this.#exact.get(plain) ??
      this.#prefixes.find(({ prefix }) => path.startsWith(prefix) || `${path}/` === prefix)?.route
    )
  }
}

export function methodOf({ methods }: Route, method: string): RouteMethod | undefined {
  if (Object.hasOwn(methods, method)) return methods[method]
  return methods['*']
}
