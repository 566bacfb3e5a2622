import { type Profile, ratioAtLeast, ratioAtMost, ratioOrWithin } from './profile.ts'

/** `load.mjs`: as fast as the node can. */
export const bursts: Profile = {
  name: 'bursts',
  program: 'load.mjs',
  measuresDisk: true,
  emptyStoreQueries: {
    query_and_ms: { query: "FROM 'run:machine:3' & 'run:order:7'", order: 'asc' },
    query_last_10_ms: { query: "FROM 'run' ORDER DESC LIMIT 10", order: 'asc' },
  },
  goals: (events) => {
    const isLarge = events >= 1_000_000
    return {
      publish1_ms_p50: [ratioAtMost(0.5)],
      publish1x32_events_s: [ratioAtLeast(10)],
      publish100_events_s: [ratioAtLeast(3)],
      publish1000_events_s: [ratioAtLeast(2)],
      query_all_events_s: [ratioAtLeast(3)],
      query_all_desc_events_s: [ratioAtLeast(3)],
      query_1_in_1000_ms: [ratioAtMost(isLarge ? 0.2 : 0.1)],
      query_and_ms: [ratioOrWithin(0.1, 2)],
      query_last_10_ms: [ratioOrWithin(0.5, 1)],
      query_filter_scanned_events_s: [ratioAtLeast(2)],
      query_aggregate_scanned_events_s: [ratioAtLeast(2)],
      subscribe_catch_up_events_s: [ratioAtLeast(3)],
      live_ms_p50: [ratioAtMost(0.5)],
      live_ms_p99: [ratioAtMost(1)],
      disk_bytes_per_event: [ratioAtMost(isLarge ? 0.65 : 0.4)],
      rss_mb: [{ kind: 'absolute', is: '≤', value: 350, unit: 'MB' }],
    }
  },
}
