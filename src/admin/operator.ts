import type { App } from '../identity/index.ts'
import { versionString } from '../runtime/version.ts'

/** The app in whose name users of the admin interface read and publish events. */
export const operator: App = { appId: 'com.actyx.cli', version: versionString, mode: 'signed' }
