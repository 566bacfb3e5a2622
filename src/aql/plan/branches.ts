import { Pace, runToEnd, type Steps } from '../steps.ts'
import { intersectKeys, intersectTimes, keysSubsumed, timesSubsumed } from './key-ranges.ts'
import type { Branch } from './plan.ts'

/** The conjunction of branches; `undefined` when they contradict each other. */
export function intersection(branches: readonly Branch[]): Branch | undefined {
  const tags = new Set<string>()
  let rest: Conditions | undefined = {}
  for (const branch of branches) {
    for (const tag of branch.tags) tags.add(tag)
    rest = rest && intersectConditions(rest, branch)
  }
  return rest && { tags: [...tags], ...rest }
}

type Conditions = Omit<Branch, 'tags'>

function intersectConditions(a: Conditions, b: Conditions): Conditions | undefined {
  if (a.appId !== undefined && b.appId !== undefined && a.appId !== b.appId) return undefined
  const key = a.key && b.key ? intersectKeys(a.key, b.key) : (a.key ?? b.key)
  const time = a.time && b.time ? intersectTimes(a.time, b.time) : (a.time ?? b.time)
  if ((a.key && key === undefined) || (a.time && time === undefined)) return undefined
  const appId = a.appId ?? b.appId
  return {
    ...(appId !== undefined && { appId }),
    ...((a.own ?? b.own) && { own: true }),
    ...(key && { key }),
    ...(time && { time }),
  }
}

/** Removes branches that are subsumed by another one (absorption). */
export function removeSubsumed(branches: readonly Branch[]): readonly Branch[] {
  return runToEnd(removeSubsumedSteps(branches, new Pace()))
}

/** Cooperative variant: yields between units of work. */
export function* removeSubsumedSteps(branches: readonly Branch[], pace: Pace): Steps<readonly Branch[]> {
  if (branches.length < 2) return branches
  const uses = new Map<string, number>()
  const general: General[] = []
  for (const branch of branches) {
    for (const tag of branch.tags) uses.set(tag, (uses.get(tag) ?? 0) + 1)
    general.push({ branch, needs: 8 * branch.tags.length + conditions(branch), breadth: breadth(branch) })
    if (pace.isDue(1 + branch.tags.length)) yield
  }
  // Kept branches are indexed by their rarest tag, so that each is compared with few others.
  const byRarestTag = new Map<string | undefined, Branch[]>()
  const kept = new Set<Branch>()
  for (const { branch } of general.sort(byGenerality)) {
    const tags = new Set(branch.tags)
    const candidates = [undefined, ...tags].flatMap((tag) => byRarestTag.get(tag) ?? [])
    if (pace.isDue(1 + tags.size + candidates.length)) yield
    if (candidates.some((other) => isSubsumedBy(branch, tags, other))) continue
    kept.add(branch)
    const rarest = branch.tags.toSorted((a, b) => (uses.get(a) ?? 0) - (uses.get(b) ?? 0))[0]
    const bucket = byRarestTag.get(rarest)
    if (bucket === undefined) byRarestTag.set(rarest, [branch])
    // Later branches subsume few others, and comparing with all of them would take quadratic time.
    else if (bucket.length < maxComparedPerTag) bucket.push(branch)
  }
  return branches.filter((branch) => kept.has(branch))
}

/** Branches per tag that others are compared with. */
const maxComparedPerTag = 32

interface General {
  readonly branch: Branch
  /** Number of conditions; tags weigh more than others. */
  readonly needs: number
  readonly breadth: number
}

/** The most general branches first, because they may subsume others. */
function byGenerality(a: General, b: General): number {
  return a.needs - b.needs || b.breadth - a.breadth
}

function conditions({ appId, own, key, time }: Branch): number {
  return [appId, own, key?.lower, key?.upper, time].filter((condition) => condition !== undefined).length
}

function breadth({ time }: Branch): number {
  return time === undefined ? 0 : Math.min(time.to, Number.MAX_SAFE_INTEGER) - time.from
}

function isSubsumedBy(inner: Branch, tags: ReadonlySet<string>, outer: Branch): boolean {
  if (outer.appId !== undefined && outer.appId !== inner.appId) return false
  if (outer.own && !inner.own) return false
  if (!outer.tags.every((tag) => tags.has(tag))) return false
  return keysSubsumed(inner.key, outer.key) && timesSubsumed(inner.time, outer.time)
}
