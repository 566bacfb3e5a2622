// Imported by the swarm thread only: loading libp2p takes long.
export type { Channel } from './channel.ts'
export { maxMessageBytes } from './channel.ts'
export { type SessionCloseReason, sessionCloseCodes } from './close-codes.ts'
export { DialFailure } from './dial-failure.ts'
export { Host } from './host.ts'
export type { HostOptions } from './host-options.ts'
export type { Session, SessionEnd } from './session.ts'
