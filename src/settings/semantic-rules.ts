import { multiaddr } from '@multiformats/multiaddr'
import { base58btc } from 'multiformats/bases/base58'
import * as Digest from 'multiformats/hashes/digest'
import { messageOf } from '../base/errors.ts'
import { decodeBase64, parsePublicKey, weaknessOf } from '../identity/index.ts'
import { isObject, type Json, ownValue } from './json.ts'
import type { Problem } from './problem.ts'
import { parseRoute } from './route.ts'

/**
 * Checks the semantic rules that a JSON schema cannot express: keys, addresses, routes. Values that violate the schema
 * are skipped. A document that passes both can always be used: no stored settings keep a node from starting.
 */
export function semanticProblems(document: Json): Problem[] {
  const [swarm, admin, eventRouting] = ['swarm', 'admin', 'eventRouting'].map((name) => member(document, name))
  return [
    ...problem('/swarm/swarmKey', member(swarm, 'swarmKey'), swarmKeyProblem),
    ...each('/swarm/initialPeers', member(swarm, 'initialPeers'), (text) => addressProblem(text, true)),
    ...each('/swarm/announceAddresses', member(swarm, 'announceAddresses'), (text) => addressProblem(text, false)),
    ...each('/admin/authorizedUsers', member(admin, 'authorizedUsers'), userKeyProblem),
    ...items(member(eventRouting, 'routes')).flatMap((route, i) =>
      problem(`/eventRouting/routes/${i}/from`, member(route, 'from'), routeProblem),
    ),
  ]
}

function member(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) ? ownValue(value, name) : undefined
}

function items(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : []
}

type Rule = (text: string) => string | undefined

function problem(path: string, text: Json | undefined, rule: Rule): Problem[] {
  const detail = typeof text === 'string' ? rule(text) : undefined
  return detail === undefined ? [] : [{ path, title: 'Format is wrong', detail }]
}

function each(path: string, texts: Json | undefined, rule: Rule): Problem[] {
  return items(texts).flatMap((text, i) => problem(`${path}/${i}`, text, rule))
}

function swarmKeyProblem(text: string): string | undefined {
  return decodeBase64(text)?.length === 32 ? undefined : 'A swarm key is the base64 of 32 bytes'
}

function addressProblem(text: string, withPeer: boolean): string | undefined {
  let peer: string | undefined
  try {
    const components = multiaddr(text).getComponents()
    if (components.length === 0) return 'Empty multiaddr'
    if (text.includes('//') || text.endsWith('/')) return 'Malformed multiaddr. It has an empty part'
    const peers = components.filter(({ name }) => name === 'p2p')
    for (const { value } of peers) Digest.decode(base58btc.baseDecode(value ?? ''))
    peer = components.at(-1)?.name === 'p2p' ? components.at(-1)?.value : undefined
    if (!withPeer && peers.length > 0) return 'Expected multiaddr without peer id'
  } catch (error) {
    return `Malformed multiaddr. ${messageOf(error).replace(/\.$/, '')}. An example: /ip4/10.0.0.1/tcp/4001`
  }
  return withPeer && peer === undefined ? 'Expected multiaddr with peer id, like …/tcp/4001/p2p/12D3KooW…' : undefined
}

function userKeyProblem(text: string): string | undefined {
  try {
    const weakness = weaknessOf(parsePublicKey(text))
    return weakness && `This cannot be a user's public key: ${weakness}`
  } catch (error) {
    return messageOf(error).replace(/\.$/, '')
  }
}

function routeProblem(text: string): string | undefined {
  try {
    parseRoute(text)
    return undefined
  } catch (error) {
    return `Expected quoted tags joined by '|' and '&': ${messageOf(error)}`
  }
}
