/** The domain that every node serves, in addition to `--naming-domain`. */
const domain = 'shoal.localhost'

/** Names that are valid in a host name: others cannot be websites. */
const hostLabels = /^[a-z0-9]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9_-]*[a-z0-9])?)*$/i

/** Where the websites of a node are reached. */
export interface WebsitePlace {
  /** The port of its API; undefined while it has none. */
  readonly port: number | undefined
  /** Whether the node is on this machine. */
  readonly isHere: boolean
}

/** The URL of a website for a browser on the machine of the node; nothing when the name is not a valid host name. */
export function websiteOf({ port }: WebsitePlace, name: string): string | undefined {
  return hostLabels.test(name) && port !== undefined ? `http://${name.toLowerCase()}.${domain}:${port}/` : undefined
}

/** The URL as a line of output. */
export function websiteText(place: WebsitePlace, name: string): string {
  const url = websiteOf(place, name)
  if (place.port === undefined) return 'Not available as a website yet: the API of the node is not open.'
  if (url === undefined)
    return 'Not available as a website: for that, a name has only letters, digits, hyphens and dots.'
  // `.localhost` resolves to the machine of the browser; only the operator knows how others reach the node.
  return place.isHere ? url : `${url} on the machine of the node`
}
