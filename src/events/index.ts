export { Events, type EventsOptions, type Offsets } from './events.ts'
