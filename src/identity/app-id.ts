import { format } from '../base/format.ts'

/** The reserved app ID of the node itself, for the events that it publishes. */
export const nodeAppId = 'com.actyx'

/** Why an app ID is invalid, if it is. A valid one is labels of lower-case letters, digits and `-`, joined by dots. */
export function appIdProblem(text: string): string | undefined {
  if (text === '') return 'expected non-empty string'
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(text)) return 'appId needs to be a valid DNS name'
  return text.length > format.appIdBytes ? `appId has more than ${format.appIdBytes} characters` : undefined
}
