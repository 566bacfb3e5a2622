/** The AST of a query. Operator chains are flat: `a | b | c` is one node, so 10,000 terms do not nest. */
export interface Query {
  readonly source: Source
  readonly stages: readonly Stage[]
}

/** The top-level query with its preamble: pragmas and features. Sub-queries have none. */
export interface MainQuery extends Query {
  readonly pragmas: readonly Pragma[]
  /** The words of `FEATURES(…)`, verbatim. */
  readonly features: readonly string[]
}

export interface Pragma {
  readonly name: string
  readonly value: string
}

export type Source =
  | { readonly kind: 'events'; readonly tags: TagExpr; readonly order: Order | undefined }
  | { readonly kind: 'array'; readonly items: readonly Item[] }

export type Order = 'asc' | 'desc' | 'stream-asc'

export type Stage =
  | { readonly kind: 'filter'; readonly condition: Expr }
  | { readonly kind: 'select'; readonly items: readonly Item[] }
  | { readonly kind: 'aggregate'; readonly expr: Expr }
  | { readonly kind: 'limit'; readonly count: bigint }
  | { readonly kind: 'let'; readonly name: string; readonly expr: Expr }

export interface Item {
  readonly spread: boolean
  readonly expr: Expr
}

// ---- tag expressions ----

export type TagExpr = TagChain | TagAtom

/** A left-associative operator chain: `first` is never a chain itself, an operand may be one. */
export interface TagChain {
  readonly kind: 'chain'
  readonly first: TagAtom
  readonly rest: readonly { readonly operator: 'and' | 'or'; readonly operand: TagExpr }[]
}

export type TagAtom =
  | { readonly kind: 'tag'; readonly tag: string }
  | { readonly kind: 'template'; readonly parts: Template }
  | { readonly kind: 'allEvents' }
  | { readonly kind: 'isLocal' }
  /** `me` is the app that sent the query. */
  | { readonly kind: 'appId'; readonly appId: string }
  | { readonly kind: 'time'; readonly comparison: Inequality; readonly time: Micros }
  | { readonly kind: 'key'; readonly comparison: Inequality; readonly key: EventKeyLiteral }

export type Inequality = '<' | '<=' | '>' | '>='

/** Microseconds since the Unix epoch, not negative. */
export type Micros = bigint

/** An event key in the text of a query. Without a stream it sorts before all events of that lamport timestamp. */
export interface EventKeyLiteral {
  readonly lamport: bigint
  readonly stream: StreamId
}

export interface StreamId {
  /** The 43 characters of the node ID; all dots when the query names no stream. */
  readonly node: string
  readonly number: bigint
}

// ---- expressions ----

export type Expr =
  | { readonly kind: 'natural'; readonly value: bigint }
  | { readonly kind: 'decimal'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'template'; readonly parts: Template }
  | { readonly kind: 'null' }
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'variable'; readonly name: string }
  | { readonly kind: 'index'; readonly head: Expr; readonly path: readonly Expr[] }
  | { readonly kind: 'object'; readonly entries: readonly Entry[] }
  | { readonly kind: 'array'; readonly items: readonly Item[] }
  | { readonly kind: 'case'; readonly clauses: readonly Clause[] }
  | { readonly kind: 'aggregator'; readonly operator: AggregateOperator; readonly argument: Expr }
  | { readonly kind: 'query'; readonly query: Query }
  | { readonly kind: 'call'; readonly name: string; readonly arguments: readonly Expr[] }
  | { readonly kind: 'meta'; readonly what: 'key' | 'time' | 'tags' | 'app'; readonly variable: string }
  | { readonly kind: 'keyLiteral'; readonly key: EventKeyLiteral }
  | { readonly kind: 'timeLiteral'; readonly time: Micros }
  | { readonly kind: 'not'; readonly operand: Expr }
  | Chain

/**
 * A left-associative operator chain, whatever the precedence of its operators: `first` is never a chain itself, an
 * operand may be one. Without operators it is a parenthesised literal, as in `x[('a')]`: a computed index, while
 * `x['a']` is a literal one.
 */
export interface Chain {
  readonly kind: 'chain'
  readonly first: Expr
  readonly rest: readonly { readonly operator: BinaryOperator; readonly operand: Expr }[]
}

export type BinaryOperator =
  | '??'
  | '|'
  | '~'
  | '&'
  | '='
  | '!='
  | '<'
  | '<='
  | '>'
  | '>='
  | '+'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'

export type AggregateOperator = 'SUM' | 'PRODUCT' | 'MIN' | 'MAX' | 'FIRST' | 'LAST'

export interface Entry {
  /** A `natural` or `string` node when the key is a literal. */
  readonly key: Expr
  readonly value: Expr
}

export interface Clause {
  readonly condition: Expr
  readonly value: Expr
}

/** Alternating literal texts and interpolated expressions. */
export type Template = readonly (string | Expr)[]
