/** The producer of a request in parts has failed, and already knows the error. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted'
}
