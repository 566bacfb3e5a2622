import { multiaddr } from '@multiformats/multiaddr'
import { base58btc } from 'multiformats/bases/base58'
import * as Digest from 'multiformats/hashes/digest'
import { messageOf } from '../errors.ts'
import { weaknessOf } from '../identity/curve.ts'
import { parsePublicKey } from '../identity/index.ts'
import type { SettingsDocument } from './document.ts'
import type { Problem } from './problem.ts'
import { parseRoute } from './route.ts'

/** A document that fits the schema, without its defaults. */
export type WrittenDocument = { readonly [Section in keyof SettingsDocument]?: Partial<SettingsDocument[Section]> }

/**
 * The rules that a schema cannot say, for a document that fits the schema. Whatever passes here can be used: nothing
 * that is stored keeps a node from starting.
 */
export function meaningless(document: WrittenDocument): Problem[] {
  const { swarm, admin, eventRouting } = document
  return [
    ...problem('/swarm/swarmKey', swarm?.swarmKey, swarmKeyProblem),
    ...each('/swarm/initialPeers', swarm?.initialPeers, (text) => addressProblem(text, true)),
    ...each('/swarm/announceAddresses', swarm?.announceAddresses, (text) => addressProblem(text, false)),
    ...each('/admin/authorizedUsers', admin?.authorizedUsers, userKeyProblem),
    ...(eventRouting?.routes ?? []).flatMap((route, i) =>
      problem(`/eventRouting/routes/${i}/from`, route.from, routeProblem),
    ),
  ]
}

type Rule = (text: string) => string | undefined

function problem(path: string, text: string | undefined, rule: Rule): Problem[] {
  const detail = text === undefined ? undefined : rule(text)
  return detail === undefined ? [] : [{ path, title: 'Format is wrong', detail }]
}

function each(path: string, texts: readonly string[] | undefined, rule: Rule): Problem[] {
  return (texts ?? []).flatMap((text, i) => problem(`${path}/${i}`, text, rule))
}

function swarmKeyProblem(text: string): string | undefined {
  const bytes = Buffer.from(text, 'base64')
  if (bytes.length === 32 && bytes.toString('base64') === text) return undefined
  return 'A swarm key is the base64 of 32 bytes'
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
