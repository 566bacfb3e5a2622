import { finish, Pace, type Steps } from '../steps.ts'
import { bothKeys, bothTimes, keysWithin, timesWithin } from './key-ranges.ts'
import type { Branch } from './plan.ts'

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
  return finish(branchesWithoutSupersets(branches, new Pace()))
}

/** The same in steps. */
export function* branchesWithoutSupersets(branches: readonly Branch[], pace: Pace): Steps<readonly Branch[]> {
  if (branches.length < 2) return branches
  const uses = new Map<string, number>()
  const general: General[] = []
  for (const branch of branches) {
    for (const tag of branch.tags) uses.set(tag, (uses.get(tag) ?? 0) + 1)
    general.push({ branch, needs: 8 * branch.tags.length + conditions(branch), breadth: breadth(branch) })
    if (pace.isDue(1 + branch.tags.length)) yield
  }
  // Kept branches are filed under their rarest tag, so that one looks at few of them.
  const filed = new Map<string | undefined, Branch[]>()
  const kept = new Set<Branch>()
  for (const { branch } of general.sort(byGenerality)) {
    const tags = new Set(branch.tags)
    const files = [undefined, ...tags].flatMap((tag) => filed.get(tag) ?? [])
    if (pace.isDue(1 + tags.size + files.length)) yield
    if (files.some((other) => isWithin(branch, tags, other))) continue
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

interface General {
  readonly branch: Branch
  /** Tags first, then other conditions. */
  readonly needs: number
  readonly breadth: number
}

/** Those that may contain others first. */
function byGenerality(a: General, b: General): number {
  return a.needs - b.needs || b.breadth - a.breadth
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
