import { quoted } from './quoted.ts'

/** The command that failed. */
export interface Failed {
  /** Its words, like `shoal events query`. */
  readonly command: string
  /** The end of a command that names the same node again; empty if it named none. */
  readonly target: string
}

/** What to type after an error; undefined when its message already says so. */
export function nextCommand(code: string, message: string, { command, target }: Failed): string | undefined {
  // The message names a command, or the option with which to repeat this one.
  if (/`(shoal|chmod|kill) /.test(message) || /Confirm it with --\w+\.$/.test(message)) return undefined
  const [, missing] = /^(\S.*) does not exist$/.exec(message) ?? []
  if (missing !== undefined) return `shoal run --working-dir ${quoted(missing)}`
  const onNode = (words: string): string => `shoal ${words}${target === '' ? '' : ` ${target}`}`
  switch (code) {
    case 'ERR_NODE_UNREACHABLE':
    case 'ERR_IO':
    case 'ERR_STORAGE':
    case 'ERR_STORAGE_READ':
    case 'ERR_CLOCK':
    case 'ERR_INVALID_NODE_STATE':
    case 'ERR_SERVICE_OVERLOADED':
    case 'ERR_SHUTTING_DOWN':
    case 'ERR_TOPIC_UNAVAILABLE':
    case 'ERR_OWN_STREAMS_UNCERTAIN':
      return onNode('doctor')
    case 'ERR_UNAUTHORIZED':
      return 'shoal users add-key DATA_FOLDER   # on the machine of the node'
    case 'ERR_USER_UNAUTHENTICATED':
    case 'ERR_PATH_INVALID':
      return 'shoal users keygen'
    case 'ERR_FILE_EXISTS':
      return 'shoal users keygen --output OTHER_FILE'
    case 'ERR_TOO_MANY_ATTEMPTS':
      return 'shoal users pubkey   # is it the key that the node knows?'
    case 'ERR_DATA_DAMAGED':
    case 'ERR_STREAM_FORKED':
      return onNode('store verify')
    case 'ERR_SETTINGS_INVALID':
    case 'ERR_SETTINGS_NOT_FOUND_AT_SCOPE':
      return 'shoal settings schema'
    case 'ERR_SETTINGS_CONFLICT':
    case 'ERR_SETTINGS_REVISION_UNKNOWN':
      return onNode('settings history')
    default:
      return `${command} --help`
  }
}
