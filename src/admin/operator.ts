import type { App } from '../identity/index.ts'
import { versionString } from '../runtime/version.ts'

/** The app ID with which the admin interface reads and publishes events. */
export const operator: App = { appId: 'com.actyx.cli', version: versionString, mode: 'signed' }
