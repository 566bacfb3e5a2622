import { test } from 'node:test'
import type { AppendHints, EventStore } from '../../src/store/port/index.ts'
import { appending } from './acceptance/appending.ts'
import { appendingParts } from './acceptance/appending-parts.ts'
import { sizing } from './acceptance/chunk-sizes.ts'
import { pruning } from './acceptance/pruning.ts'
import { querying } from './acceptance/querying.ts'
import { reading } from './acceptance/reading.ts'
import { receiving } from './acceptance/receiving.ts'
import { redacting } from './acceptance/redacting.ts'
import { replicating } from './acceptance/replicating.ts'
import { subscribing } from './acceptance/subscribing.ts'
import type { OpenStore, Rule } from './acceptance/support.ts'

export type { OpenOptions, OpenStore } from './acceptance/support.ts'

const rules = [appending, reading, receiving, pruning, redacting, replicating, sizing, querying, subscribing].flat()

type Which = 'all' | 'large'

/** The rules that every implementation of `EventStore` has to keep: all of them, or those about many events. */
export function acceptanceSuite(name: string, open: OpenStore, which: Which = 'all'): void {
  declare(rules, name, open, which)
}

/** The rules of the optional `AppendHints`. */
export function hintsSuite(name: string, open: OpenStore<EventStore & AppendHints>, which: Which = 'all'): void {
  declare(appendingParts, name, open, which)
}

function declare<Store>(rules: readonly Rule<Store>[], name: string, open: OpenStore<Store>, which: Which): void {
  for (const { name: rule, large, check } of rules)
    if (large || which === 'all') test(`${name}: ${rule}`, (t) => check(t, open))
}
