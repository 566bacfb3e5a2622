import type { Job } from './job.ts'

/** The apps whose new events wake live jobs. */
export type WakeFilter = 'all' | 'none' | { readonly appId: string }

/** The wake-up filter for jobs, some of which may be in preparation: only commits with events of its apps wake them. */
export function wakeFilterOf(jobs: Iterable<{ readonly job: Job | undefined }>): WakeFilter {
  const apps = new Set<string | undefined>()
  for (const { job } of jobs) if (job?.isLive === true) apps.add(job.appId)
  const [appId] = apps
  if (apps.size === 0) return 'none'
  return apps.size > 1 || appId === undefined ? 'all' : { appId }
}
