/** Whether other machines can reach a multiaddr at which this one listens. */
export function isReachable(address: string): boolean {
  return !/^\/(ip4\/127\.|ip6\/(::1|::ffff:127\.))/.test(address)
}

/** Whether a multiaddr leads others to this machine: neither loopback nor the address that stands for all own ones. */
export function canBeDialled(address: string): boolean {
  return isReachable(address) && !/^\/(ip4\/0\.0\.0\.0|ip6\/::)(\/|$)|^\/dns\w*\/localhost\//.test(address)
}
