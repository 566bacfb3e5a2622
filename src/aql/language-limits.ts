/** Limits of the language itself. The resource limits of the node that runs queries are elsewhere. */
export const aqlLimits = {
  /** Nesting depth of a query: parentheses, arrays, objects, sub-queries and `!`. */
  nesting: 512,
  /** Nesting depth of a computed value: that of a payload and what the query wraps around it. */
  valueNesting: 1024,
  /** Stages of one query. */
  stages: 1000,
  /** Characters of the JSON text of one result. */
  resultLength: 32 * 1024 * 1024,
  /** Items of a computed array. */
  arrayLength: 100_000,
  /** Values that SELECT produces from one event. */
  selectedValues: 1_000_000,
  /** Characters of the text that a template produces. */
  templateLength: 8 * 1024 * 1024,
  /** Results of one evaluation of a sub-query. */
  subQueryResults: 1_000_000,
  /** Estimated bytes of the results of one evaluation of a sub-query. */
  subQueryBytes: 64 * 1024 * 1024,
  /** Estimated bytes of all values that a query holds or works on at the same time. */
  heldBytes: 128 * 1024 * 1024,
  /** Aggregators of one AGGREGATE stage. */
  aggregators: 1000,
  /** Branches of the disjunctive normal form of a tag expression. With more, a residual predicate filters events. */
  tagCombinations: 10_000,
  /** Tags combined while computing these branches. With more, a residual predicate filters events. */
  combinedTags: 500_000,
  /** Branches for a sub-query whose tags depend on the event: it is planned again for every event. */
  tagCombinationsPerEvent: 256,
  /** Tags combined while computing these branches. */
  combinedTagsPerEvent: 10_000,
} as const
