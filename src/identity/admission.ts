import { failure, invalidRequest } from '../base/errors.ts'
import { nodeAppId } from './app-id.ts'
import type { PublicKey } from './keys.ts'
import { licenceProblem, nodeLicenceSubject } from './licences.ts'
import { checkManifest, type Manifest } from './manifests.ts'
import type { App } from './tokens.ts'

/** The licences of a node and its apps, from its settings. */
export interface Licensing {
  /** `development`, or a licence. */
  readonly node: string
  readonly apps: Readonly<Record<string, string>>
}

export interface Admitted extends App {
  /** A warning for the operator. */
  readonly warning?: string
}

const trialPrefix = 'com.example.'

/**
 * Admission control for apps: decides whether an app gets a token. An unlicensed node admits every app, but a signature
 * must be valid if there is one. `root` is the key that signs certificates and licences, `now` is in microseconds.
 */
export function admitApp(manifest: Manifest, licensing: Licensing, root: PublicKey | undefined, now: number): Admitted {
  const { appId, version, signature } = manifest
  const isLicensed = licensing.node !== 'development'
  if (appId === nodeAppId) throw invalidRequest(`The app ID '${appId}' is the node's own.`)
  if (signature === undefined) {
    if (isLicensed && !appId.startsWith(trialPrefix)) {
      throw invalidRequest(`Trial app id needs to start with '${trialPrefix}'. Got '${appId}'.`)
    }
    return { appId, version, mode: 'trial' }
  }
  if (root === undefined) {
    const cause = 'This node has no root key to check a signature with; it is given with --root-public-key.'
    throw failure('ERR_MANIFEST_INVALID', { cause })
  }
  checkManifest(manifest, signature, root)
  const app: App = { appId, version, mode: 'signed' }
  return isLicensed ? { ...app, ...licensed(appId, licensing, root, now) } : app
}

/** Throws unless node and app have a valid licence. */
function licensed(appId: string, { node, apps }: Licensing, root: PublicKey, now: number): { warning?: string } {
  const nodeProblem = licenceProblem(node, nodeLicenceSubject, root, now)
  if (nodeProblem !== undefined) throw failure('ERR_NODE_UNAUTHORIZED', { reason: nodeProblem })
  const licence = Object.hasOwn(apps, appId) ? apps[appId] : undefined
  if (licence === undefined) throw failure('ERR_APP_UNAUTHORIZED', { appId, reason: 'no license found' })
  if (licence === 'testing') return { warning: `${appId} is admitted for testing; it has no licence` }
  const reason = licenceProblem(licence, appId, root, now)
  if (reason !== undefined) throw failure('ERR_APP_UNAUTHORIZED', { appId, reason })
  return {}
}
