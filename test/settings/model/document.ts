import type { Scope } from '../../../src/settings/index.ts'

/** JSON with maps for objects: a map has no special names like `__proto__`. */
export type Tree = null | boolean | number | string | Tree[] | Map<string, Tree>

export function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return value.map(treeOf)
  if (typeof value !== 'object' || value === null) return value as Tree
  return new Map(Object.entries(value).map(([name, member]) => [name, treeOf(member)]))
}

/** Canonical JSON text with sorted names: equal documents have equal texts. */
export function textOf(tree: Tree | undefined): string {
  if (tree === undefined) return 'nothing'
  if (Array.isArray(tree)) return `[${tree.map(textOf).join()}]`
  if (!(tree instanceof Map)) return JSON.stringify(tree)
  const members = [...tree].map(([name, member]) => `${JSON.stringify(name)}:${textOf(member)}`)
  return `{${members.sort().join()}}`
}

export const jsonText = (value: unknown): string => textOf(treeOf(value))

export const specifiedDefaults = {
  swarm: {
    swarmKey: 'MDAwMDAwMDAxMTExMTExMTIyMjIyMjIyMzMzMzMzMzM=',
    topic: 'default-topic',
    initialPeers: [],
    announceAddresses: [],
    blockCacheCount: 131072,
    blockCacheSize: 1073741824,
    blockGcInterval: 300,
    metricsInterval: 1800,
    pingTimeout: 5,
    bitswapTimeout: 15,
    mdns: true,
    branchCacheSize: 67108864,
    gossipInterval: 10,
    detectionCyclesLowLatency: 2,
    detectionCyclesHighLatency: 5,
  },
  admin: { displayName: 'Default Node', logLevels: { node: 'INFO' }, authorizedUsers: [] },
  licensing: { node: 'development', apps: {} },
  api: { events: { readOnly: false } },
  eventRouting: { streams: {}, routes: [] },
}
const specifiedStreamDefaults = { maxEvents: 0, maxSize: '0', maxAge: null }

function memberOf(tree: Tree | undefined, name: string): Tree | undefined {
  if (tree instanceof Map) return tree.get(name)
  return Array.isArray(tree) ? tree[Object.keys(tree).indexOf(name)] : undefined
}

export function valueAt(tree: Tree | undefined, [name, ...rest]: Scope): Tree | undefined {
  return name === undefined ? tree : valueAt(memberOf(tree, name), rest)
}

/** The tree with a value set at a path; undefined when the path is impossible. */
export function withValue(
  tree: Tree | undefined,
  shown: Tree | undefined,
  [name, ...rest]: Scope,
  value: Tree,
): Tree | undefined {
  if (name === undefined) return value
  const missing = Array.isArray(shown) ? shown : new Map<string, Tree>()
  const parent = tree === undefined ? missing : tree
  const member = withValue(memberOf(parent, name), memberOf(shown, name), rest, value)
  return member === undefined ? undefined : withMember(parent, name, member)
}

function withMember(parent: Tree, name: string, member: Tree): Tree | undefined {
  if (parent instanceof Map) return new Map(parent).set(name, member)
  if (!Array.isArray(parent)) return undefined
  const index = [...parent.keys(), parent.length].map(String).indexOf(name)
  return index < 0 ? undefined : parent.toSpliced(index, 1, member)
}

export function withoutValue(tree: Tree, [name, ...rest]: Scope): Tree {
  if (name === undefined) return new Map()
  const member = memberOf(tree, name)
  if (member === undefined) return tree
  if (rest.length > 0) return withMember(tree, name, withoutValue(member, rest)) ?? tree
  if (Array.isArray(tree)) return tree.toSpliced(Number(name), 1)
  return tree instanceof Map ? new Map([...tree].filter(([other]) => other !== name)) : tree
}

/** RFC 7396. */
export function mergedInto(target: Tree | undefined, patch: Tree): Tree {
  if (!(patch instanceof Map)) return patch
  const result = new Map(target instanceof Map ? target : [])
  for (const [name, member] of patch) {
    if (member === null) result.delete(name)
    else result.set(name, mergedInto(result.get(name), member))
  }
  return result
}

export function withDefaults(stored: Tree): Tree {
  const document = overlaid(treeOf(specifiedDefaults), stored)
  const streams = valueAt(document, ['eventRouting', 'streams'])
  if (!(streams instanceof Map)) return document
  for (const [name, stream] of streams) streams.set(name, overlaid(treeOf(specifiedStreamDefaults), stream))
  return document
}

/** The base overlaid with another tree, as a deep copy. */
function overlaid(base: Tree | undefined, top: Tree | undefined): Tree {
  if (!(base instanceof Map) || !(top instanceof Map)) return structuredClone((top === undefined ? base : top) ?? null)
  const names = new Set([...base.keys(), ...top.keys()])
  return new Map([...names].map((name) => [name, overlaid(base.get(name), top.get(name))]))
}

/** The diff as paths: objects by member, everything else as a whole. */
export function differences(before: Tree | undefined, after: Tree | undefined, path = ''): string[] {
  if (!(before instanceof Map) || !(after instanceof Map)) return textOf(before) === textOf(after) ? [] : [path]
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].flatMap((name) => differences(before.get(name), after.get(name), `${path}/${name}`))
}
