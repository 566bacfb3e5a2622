import { messageOf } from '../../base/errors.ts'
import { parsePeerId } from '../../identity/index.ts'
import { parseTcpAddress } from '../peers/index.ts'

interface InitialPeers {
  readonly peers: { readonly peer: string; readonly address: string }[]
  /** What could not be used, in words. */
  readonly problems: string[]
}

/** The peers of the setting `initialPeers`: multiaddrs that end in a peer ID. */
export function initialPeersOf(texts: readonly string[]): InitialPeers {
  const found: InitialPeers = { peers: [], problems: [] }
  for (const text of texts) {
    const [, address = '', id = ''] = /^(\/.+)\/(?:p2p|ipfs)\/([^/]+)$/.exec(text) ?? []
    if (parseTcpAddress(address) === undefined) {
      found.problems.push(`failed to add initial peer ${text}: only addresses of TCP, with a peer ID, can be dialled`)
      continue
    }
    try {
      found.peers.push({ peer: Buffer.from(parsePeerId(id)).toString('latin1'), address })
    } catch (error) {
      found.problems.push(`failed to add initial peer ${text}: ${messageOf(error)}`)
    }
  }
  return found
}
