import { limits } from '../../../src/base/limits.ts'
import type { Json, Scope } from '../../../src/settings/index.ts'
import * as fc from '../../support/property.ts'
import type { Operation } from './model.ts'
import {
  anyJson,
  appIds,
  appLicences,
  grafted,
  limitRows,
  mix,
  names,
  noAnnouncedAddresses,
  noAppIds,
  noAppLicences,
  noPeerAddresses,
  noRoutes,
  noStreamNames,
  noTagExpressions,
  noUserKeys,
  peerAddresses,
  places,
  type Row,
  rightDocuments,
  routes,
  rows,
  streamLimits,
  streamNames,
  tagExpressions,
  userKeys,
  type Values,
} from './values.ts'

interface Placed {
  readonly scope: Scope
  readonly value: Json
}

const placed = (scopes: fc.Arbitrary<Scope>, values: Values): fc.Arbitrary<Placed> =>
  fc.record({ scope: scopes, value: values })
const placedRow = ({ scope, right, wrong }: Row): fc.Arbitrary<Placed> =>
  placed(fc.constant(scope), mix([3, right], [2, wrong]))
const under = (path: string, ...parts: fc.Arbitrary<string>[]): fc.Arbitrary<Scope> =>
  fc.tuple(...parts).map((rest) => [...path.split('/'), ...rest])

export const sections = ['swarm', 'admin', 'licensing', 'api', 'eventRouting']
export const objectScopes: Scope[] = [...sections, 'admin/logLevels', 'api/events'].map((path) => path.split('/'))
const wrongRow = fc.constantFrom(...rows).chain(({ scope, wrong }) => placed(fc.constant(scope), wrong))
const strangers = placed(
  fc.tuple(fc.constantFrom<Scope[]>([], ...objectScopes), names).map(([scope, name]) => [...scope, name]),
  anyJson,
)
const wrongDocuments = fc
  .tuple(rightDocuments, mix([2, wrongRow], [1, strangers]))
  .map(([document, { scope, value }]) => grafted(document, scope, value))
const oversized: Json = { api: { events: { _internal: { a: 'x'.repeat(limits.settingsDocumentBytes) } } } }

const wholeDocuments = placed(
  fc.constant([]),
  mix<Json>([30, rightDocuments], [20, wrongDocuments], [10, anyJson], [1, fc.constant(oversized)]),
)
const wholeSections = fc
  .tuple(rightDocuments, fc.constantFrom(...sections))
  .map(([document, name]) => ({ scope: [name], value: document[name] ?? {} }))

const indexes = mix(
  [5, fc.constantFrom('0', '1', '2')],
  [1, fc.constantFrom('3', '01', '-1', '1e0', '', 'length', 'x', '4294967296', '99999999999')],
)
const items = fc.oneof(
  placed(under('swarm/initialPeers', indexes), mix([3, peerAddresses], [1, noPeerAddresses])),
  placed(under('swarm/announceAddresses', indexes), mix([3, places], [1, noAnnouncedAddresses])),
  placed(under('admin/authorizedUsers', indexes), mix([3, userKeys], [1, noUserKeys])),
  placed(under('eventRouting/routes', indexes), mix([3, routes], [1, noRoutes])),
  placed(under('eventRouting/routes', indexes, fc.constant('from')), mix([3, tagExpressions], [1, noTagExpressions])),
)
const entries = fc.oneof(
  placed(under('licensing/apps', mix([4, appIds], [1, noAppIds])), mix([4, appLicences], [1, noAppLicences])),
  placed(
    under('eventRouting/streams', mix([4, streamNames], [1, noStreamNames])),
    mix([4, streamLimits], [1, anyJson]),
  ),
  fc
    .tuple(streamNames, fc.constantFrom(...limitRows).chain(placedRow))
    .map(([name, { scope, value }]) => ({ scope: ['eventRouting', 'streams', name, ...scope], value })),
)

const steps = fc.array(mix([3, names], [1, indexes]), { maxLength: 4 })
const free = placed(
  steps.map((rest) => ['api', 'events', '_internal', ...rest]),
  anyJson,
)
const nowhere = mix(
  [4, steps],
  // Paths below scalars, and below values that are not stored.
  [8, fc.tuple(fc.constantFrom(...rows), steps).map(([{ scope }, rest]) => [...scope, ...rest])],
  [1, fc.constant(['api', 'events', '_internal', ...Array<string>(600).fill('a')])],
)

const inside = mix<Placed>(
  [8, fc.constantFrom(...rows).chain(placedRow)],
  [3, wholeSections],
  [6, items],
  [4, entries],
  [4, free],
  [2, placed(nowhere, anyJson)],
)
const anywhere = mix([4, inside], [1, wholeDocuments])

/** A merge patch with a removal. */
const patches = fc.tuple(anywhere, names).map(([{ scope, value }, spare]) => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return { scope, value }
  const [name = spare] = Object.keys(value).reverse()
  return { scope, value: { ...value, [name]: null } }
})

const revisions = mix([4, fc.integer({ min: 1, max: 12 })], [1, fc.constantFrom(-1, 0, 0.5, 1.5, 1000, 2 ** 53, 1e308)])

/** A route has required members: the only place where a removal can be invalid. */
const routeMembers = under('eventRouting/routes', fc.constantFrom('0', '1'), fc.constantFrom('from', 'into'))
const removable = mix([20, inside.map(({ scope }) => scope)], [8, routeMembers], [1, fc.constant([])])

export const setting = (placed: Placed): Operation => ({ kind: 'set', ...placed })
const merging = (placed: Placed): Operation => ({ kind: 'merge', ...placed })
const unsetting = (scope: Scope): Operation => ({ kind: 'unset', scope })
const rollingBack = (revision: number): Operation => ({ kind: 'rollback', revision })

const operations = mix(
  [12, anywhere.map(setting)],
  [4, patches.map(merging)],
  [3, removable.map(unsetting)],
  [2, revisions.map(rollingBack)],
)
export const oneAfterTheOther = fc.array(operations, { minLength: 1, maxLength: 40, size: 'max' })

/** Concurrent changes that conflict. */
const contested = placed(under('api/events/_internal', fc.constantFrom('a', 'b')), anyJson)
const contestedChanges = fc.oneof(
  contested.map(setting),
  contested.map(merging),
  contested.map(({ scope }) => unsetting(scope)),
)
export const atOnce = fc.array(contestedChanges, { minLength: 2, maxLength: 5 })
