import type { Branch } from './plan.ts'
import { bothKeys, bothTimes, keysWithin, timesWithin } from './ranges.ts'

/** What is in all of the branches; nothing when they contradict each other. */
export function intersection(branches: readonly Branch[]): Branch | undefined {
  const tags = new Set<string>()
  let rest: Conditions | undefined = {}
  for (const branch of branches) {
    for (const tag of branch.tags) tags.add(tag)
    rest = rest && bothConditions(rest, branch)
  }
  return rest && { tags: [...tags], ...rest }
}

type Conditions = Omit<Branch, 'tags'>

function bothConditions(a: Conditions, b: Conditions): Conditions | undefined {
  if (a.appId !== undefined && b.appId !== undefined && a.appId !== b.appId) return undefined
  const key = a.key && b.key ? bothKeys(a.key, b.key) : (a.key ?? b.key)
  const time = a.time && b.time ? bothTimes(a.time, b.time) : (a.time ?? b.time)
  if ((a.key && key === undefined) || (a.time && time === undefined)) return undefined
  const appId = a.appId ?? b.appId
  return {
    ...(appId !== undefined && { appId }),
    ...((a.own ?? b.own) && { own: true }),
    ...(key && { key }),
    ...(time && { time }),
  }
}

/** Without the branches whose events are all in another one. */
export function withoutSupersets(branches: readonly Branch[]): readonly Branch[] {
  if (branches.length < 2) return branches
  const uses = new Map<string, number>()
  for (const { tags } of branches) for (const tag of tags) uses.set(tag, (uses.get(tag) ?? 0) + 1)
  // Kept branches are filed under their rarest tag, so that one looks at few of them.
  const filed = new Map<string | undefined, Branch[]>()
  const kept = new Set<Branch>()
  for (const branch of [...branches].sort(byGenerality)) {
    const tags = new Set(branch.tags)
    if ([undefined, ...tags].some((tag) => filed.get(tag)?.some((other) => isWithin(branch, tags, other)))) continue
    kept.add(branch)
    const rarest = branch.tags.toSorted((a, b) => (uses.get(a) ?? 0) - (uses.get(b) ?? 0))[0]
    const file = filed.get(rarest)
    if (file === undefined) filed.set(rarest, [branch])
    // Those after the first ones contain few others, and looking at all would take the square of their number.
    else if (file.length < filedTogether) file.push(branch)
  }
  return branches.filter((branch) => kept.has(branch))
}

/** Branches under one tag that others are compared with. */
const filedTogether = 32

/** Those that may contain others first. */
function byGenerality(a: Branch, b: Branch): number {
  return a.tags.length - b.tags.length || conditions(a) - conditions(b) || breadth(b) - breadth(a)
}

function conditions({ appId, own, key, time }: Branch): number {
  return [appId, own, key?.lower, key?.upper, time].filter((condition) => condition !== undefined).length
}

function breadth({ time }: Branch): number {
  return time === undefined ? 0 : Math.min(time.to, Number.MAX_SAFE_INTEGER) - time.from
}

function isWithin(inner: Branch, tags: ReadonlySet<string>, outer: Branch): boolean {
  if (outer.appId !== undefined && outer.appId !== inner.appId) return false
  if (outer.own && !inner.own) return false
  if (!outer.tags.every((tag) => tags.has(tag))) return false
  return keysWithin(inner.key, outer.key) && timesWithin(inner.time, outer.time)
}
