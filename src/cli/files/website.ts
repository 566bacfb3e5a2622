import { isIP } from 'node:net'

/** The domain that every node serves, in addition to `--naming-domain`. */
const domain = 'shoal.localhost'

/** Names that are valid in a host name: others cannot be websites. */
const hostLabels = /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*$/i

/** The URL of a website for a browser on the machine of the node; nothing when the name is not a valid host name. */
export function websiteOf(node: string, name: string): string | undefined {
  const { port } = new URL(node)
  return hostLabels.test(name) ? `http://${name.toLowerCase()}.${domain}:${port || 80}/` : undefined
}

/** The URL as a line of output. */
export function websiteText(node: string, name: string): string {
  const url = websiteOf(node, name)
  if (url === undefined)
    return 'Not available as a website: for that, a name has only letters, digits, hyphens and dots.'
  // `.localhost` resolves to the machine of the browser; only the operator knows how others reach the node.
  return isThisMachine(new URL(node).hostname) ? url : `${url} on the machine of the node`
}

function isThisMachine(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  if (isIP(address) === 0) return address === 'localhost' || address.endsWith('.localhost')
  return address === '::1' || address.startsWith('127.')
}
