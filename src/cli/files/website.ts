import { isIP } from 'node:net'

/** The domain that works on every node, also with another one in `--naming-domain`. */
const domain = 'shoal.localhost'

/** Names that can be part of a host name: others cannot be websites. */
const hostLabels = /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*$/i

/** Where a browser on the machine of the node finds what has a name; nothing when the name cannot be a host name. */
export function websiteOf(node: string, name: string): string | undefined {
  const { port } = new URL(node)
  return hostLabels.test(name) ? `http://${name.toLowerCase()}.${domain}:${port || 80}/` : undefined
}

/** The same as a line for people. */
export function websiteText(node: string, name: string): string {
  const url = websiteOf(node, name)
  if (url === undefined) return 'It is no website: for that, a name has only letters, digits, hyphens and dots.'
  // `.localhost` means the machine of the browser; only the operator knows how others reach the node.
  return isThisMachine(new URL(node).hostname) ? url : `${url} on the machine of the node`
}

function isThisMachine(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  if (isIP(address) === 0) return address === 'localhost' || address.endsWith('.localhost')
  return address === '::1' || address.startsWith('127.')
}
