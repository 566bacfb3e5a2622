export { type Redacted, redactEvents } from './redact-events.ts'
