import type { App } from '../identity/index.ts'
import type { Answer } from './answer.ts'
import type { Call } from './call.ts'

interface Rules {
  /** The type of the answer: who does not accept it is refused. Without it, nobody is. */
  readonly produces?: string
  /** What the body has to be. */
  readonly consumes?: 'json'
}

/** What answers a method of a path, and what has to hold before it is asked. */
export type Endpoint =
  | (Rules & { readonly token: false; answer(call: Call): Answer | Promise<Answer> })
  | (Rules & { readonly token: true; answer(call: Call, app: App): Answer | Promise<Answer> })

export interface Route {
  /** A path; with `/*` at its end also everything below it. */
  readonly path: string
  /** By method; `*` stands for all of them. */
  readonly methods: Readonly<Record<string, Endpoint>>
}

/** Finds what answers a path. */
export class Router {
  readonly #fixed: ReadonlyMap<string, Route>
  readonly #trees: readonly { readonly prefix: string; readonly route: Route }[]

  constructor(routes: readonly Route[]) {
    const isTree = ({ path }: Route) => path.endsWith('/*')
    this.#fixed = new Map(routes.filter((route) => !isTree(route)).map((route) => [route.path, route]))
    this.#trees = routes.filter(isTree).map((route) => ({ prefix: route.path.slice(0, -1), route }))
  }

  /** The route of a path; one slash at its end does not matter. */
  find(path: string): Route | undefined {
    const plain = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
    return (
      this.#fixed.get(plain) ??
      this.#trees.find(({ prefix }) => path.startsWith(prefix) || `${path}/` === prefix)?.route
    )
  }
}

export function endpointOf({ methods }: Route, method: string): Endpoint | undefined {
  if (Object.hasOwn(methods, method)) return methods[method]
  return methods['*']
}
