/** Whether other machines can reach a multiaddr on which a node listens: it is not loopback. */
export function isReachable(address: string): boolean {
  return !/^\/(ip4\/127\.|ip6\/(::1|::ffff:127\.))/.test(address)
}

/** Whether other machines can dial a multiaddr: it is neither loopback nor a wildcard address. */
export function canBeDialled(address: string): boolean {
  return isReachable(address) && !/^\/(ip4\/0\.0\.0\.0|ip6\/::)(\/|$)|^\/dns\w*\/localhost\//.test(address)
}
