export type { FactPlace } from '../replication/index.ts'
export {
  copyOfFact,
  type FactEvent,
  factPlace,
  factTagLists,
  factTags,
  mappingOf,
  mappingTag,
  subjectOf,
} from './fact-event.ts'
export { type WinningFact, WinningFacts } from './winning-facts.ts'
