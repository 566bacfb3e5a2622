/** The rest of a request does not come: whoever makes it has failed, and knows why. */
export class GivenUp extends Error {
  override readonly name = 'GivenUp'
}
