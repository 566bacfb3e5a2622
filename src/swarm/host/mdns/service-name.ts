import { createHash } from 'node:crypto'

/**
 * The DNS-SD name under which the nodes of a swarm and topic find each other. It carries a hash of swarm key and topic,
 * so nodes of other swarms are never seen; the key cannot be derived from it.
 */
export function serviceName(swarmKey: Uint8Array, topic: string): string {
  const hash = createHash('sha256').update('shoal-mdns-1\0').update(swarmKey).update(topic).digest()
  return `_shoal-${hash.subarray(0, 10).toString('hex')}._tcp.local`
}
