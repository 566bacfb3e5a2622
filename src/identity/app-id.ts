import { format } from '../base/format.ts'

/** The ID under which events of the node itself are published; no app gets it. */
export const nodeAppId = 'com.actyx'

/** Why a text is no app ID, if it is none: labels of lower-case letters, digits and `-`, joined by dots. */
export function appIdProblem(text: string): string | undefined {
  if (text === '') return 'expected non-empty string'
  if (!/^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(text)) return 'appId needs to be a valid DNS name'
  return text.length > format.appIdBytes ? `appId has more than ${format.appIdBytes} characters` : undefined
}
