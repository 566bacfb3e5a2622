export { type Clamped, clampSettings } from './clamp.ts'
export { complete } from './document.ts'
export { newestRevisions, type ShownRevision } from './history.ts'
export type { Json, JsonObject } from './json.ts'
export { InvalidSettings, type Problem } from './problem.ts'
export { type Retention, retentionOf } from './retention.ts'
export type { SettingsLog, StoredRevision } from './revisions.ts'
export { matches, parseRoute, type TagCondition } from './route.ts'
export { publicSwarmKey, type RetentionSettings, type SettingsDocument, schema } from './schema.ts'
export { changedPaths, formatScope, parseScope, type Scope } from './scope.ts'
export {
  type Change,
  type Changed,
  type ChangeOptions,
  Settings,
  type SettingsChange,
} from './settings.ts'
export type { ValueChange } from './value-changes.ts'
export { type Applied, whenApplied } from './when-applied.ts'
