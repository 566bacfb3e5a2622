import { type Profile, ratioAtLeast, ratioAtMost, ratioOrWithin } from './profile.ts'

const now = new Date().toISOString()

/** `edge.mjs`: what a node does most of the day. */
export const everyday: Profile = {
  name: 'everyday',
  program: 'edge.mjs',
  measuresDisk: false,
  emptyStoreQueries: {
    tail_nothing_ms: { query: "FROM 'run:nothing'", order: 'asc' },
    tail_one_tag_ms: { query: "FROM 'run:machine:3'", order: 'asc' },
    tail_last_10_ms: { query: "PRAGMA features := limit\nFROM 'run' ORDER DESC LIMIT 10", order: 'desc' },
    by_time_ms: { query: `FROM 'run' & from(${now})`, order: 'asc' },
    by_time_all_ms: { query: `FROM allEvents & from(${now})`, order: 'asc' },
  },
  goals: () => ({
    sparse_publish_ms_p50: [ratioAtMost(0.5)],
    sparse_publish_ms_p99: [ratioAtMost(0.7)],
    tail_nothing_ms: [ratioOrWithin(0.7, 1)],
    tail_one_tag_ms: [ratioOrWithin(0.5, 1)],
    tail_last_10_ms: [ratioOrWithin(0.5, 1)],
    batch1000_foreign_alphabet_events_s: [
      ratioAtLeast(1.8),
      { kind: 'own', is: '≥', value: 0.8, of: 'batch1000_events_s' },
    ],
    batch10_of_10kB_events_s: [ratioAtLeast(2)],
    by_time_ms: [ratioOrWithin(1, 1)],
    by_time_all_ms: [ratioOrWithin(1, 1)],
    filter_nested_events_s: [ratioAtLeast(2)],
    filter_missing_events_s: [ratioAtLeast(3)],
    select_object_events_s: [ratioAtLeast(2)],
    short_query_beside_4_long_ms: [ratioAtMost(0.2)],
    publish_beside_4_long_ms_p50: [ratioAtMost(0.1)],
    live_20_subscribers_ms_p50: [ratioAtMost(0.5)],
    live_20_subscribers_ms_p99: [ratioAtMost(0.5)],
    busy_publish_ms_p50: [ratioAtMost(0.5)],
    busy_short_query_ms: [ratioAtMost(0.5)],
    busy_filter_events_s: [ratioAtLeast(1)],
    memory_mb: [{ kind: 'absolute', is: '≤', value: 350, unit: 'MB' }],
  }),
}
