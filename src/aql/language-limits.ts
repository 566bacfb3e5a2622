/** The bounds of the language itself. Those of the node that runs it are elsewhere. */
export const aqlLimits = {
  /** Levels of a query: parentheses, arrays, objects, nested queries and `!` within each other. */
  nesting: 512,
  /** Levels of a value that a query makes: those of a payload, and what is put around it. */
  valueNesting: 1024,
  /** Stages of one query. */
  stages: 1000,
  /** Characters of the JSON text of one result. */
  resultLength: 32 * 1024 * 1024,
  /** Items of an array that a query makes. */
  arrayLength: 100_000,
  /** Values that SELECT makes of one event. */
  selectedValues: 1_000_000,
  /** Characters of a text that a template makes. */
  templateLength: 8 * 1024 * 1024,
  /** Results of one evaluation of a nested query. */
  subQueryResults: 1_000_000,
  /** Bytes that the results of one evaluation of a nested query may take, roughly. */
  subQueryBytes: 64 * 1024 * 1024,
  /** Bytes of all values that a query holds or works on at the same time, roughly. */
  heldBytes: 128 * 1024 * 1024,
  /** Aggregators of one AGGREGATE stage. */
  aggregators: 1000,
  /** Combinations of tags that a condition is taken apart into. With more, events are looked at one by one. */
  tagCombinations: 10_000,
  /** Tags that are put together to find these combinations. With more, the same. */
  combinedTags: 500_000,
  /** Combinations of tags of a nested query whose tags depend on the event: they are planned for every event. */
  tagCombinationsPerEvent: 256,
  /** Tags that are put together to find these. */
  combinedTagsPerEvent: 10_000,
} as const
