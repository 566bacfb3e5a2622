import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checked } from '../../src/settings/check-document.ts'
import type { InvalidSettings, Json } from '../../src/settings/index.ts'

/** The validation errors of a document, one line each. */
function complaints(document: Json): string[] {
  try {
    checked(document)
    return []
  } catch (error) {
    const [head, errors, ...lines] = (error as InvalidSettings).message.split('\n')
    assert.deepEqual([head, errors], ['Validation failed.', '\tErrors:'])
    return lines.map((line) => line.replace(/^\t\t/, ''))
  }
}

const examples: [string, Json, RegExp][] = [
  [
    'a wrong type',
    { swarm: { topic: 1 } },
    /^\/swarm\/topic: Type of the value is wrong\. \(The value must be string\.\)$/,
  ],
  ['the document itself', [], /^\/: Type of the value is wrong\. \(The value must be object\.\)$/],
  [
    'an unknown property',
    { foo: 1 },
    /^\/: Property conditions are not met\. \(Additional property 'foo' is not allowed; allowed are: swarm, admin, licensing, api, eventRouting\.\)$/,
  ],
  [
    'a malformed stream name',
    { eventRouting: { streams: { 'a b': {} } } },
    /^\/eventRouting\/streams: Property conditions are not met\. \(Additional property 'a b' is not allowed; allowed are: names that match \^\[a-zA-Z0-9_-\]\+\$\.\)$/,
  ],
  [
    'a missing property',
    { eventRouting: { routes: [{ into: 'a' }] } },
    /^\/eventRouting\/routes\/0\/from: This property is required\.$/,
  ],
  [
    'a value that is too short',
    { admin: { displayName: '' } },
    /^\/admin\/displayName: MinLength condition is not met\. \(At least 1 characters are needed\.\)$/,
  ],
  [
    'a value that is too long',
    { swarm: { topic: 'x'.repeat(61) } },
    /^\/swarm\/topic: MaxLength condition is not met\. \(At most 60 characters are allowed\.\)$/,
  ],
  [
    'a value that is too small',
    { swarm: { blockGcInterval: 29 } },
    /^\/swarm\/blockGcInterval: Minimum condition is not met\. \(The value must be at least 30\.\)$/,
  ],
  [
    'a value that is too small for one of several choices',
    { eventRouting: { streams: { a: { maxEvents: -1 } } } },
    /^\/eventRouting\/streams\/a\/maxEvents: Minimum condition is not met\. \(How many .*: a whole number; 0 means no limit\.\)$/,
  ],
  [
    'a value that matches none of several choices',
    { eventRouting: { streams: { a: { maxEvents: true } } } },
    /^\/eventRouting\/streams\/a\/maxEvents: OneOf conditions are not met\. \(How many .*: a whole number; 0 means no limit\.\)$/,
  ],
  [
    'a value that does not match the pattern',
    { admin: { logLevels: { node: 'Info' } } },
    /^\/admin\/logLevels\/node: Pattern condition is not met\. \(What is logged: ERROR, WARN, INFO or DEBUG/,
  ],
  [
    'a list with duplicates',
    { swarm: { initialPeers: ['a', 'a'] } },
    /^\/swarm\/initialPeers: UniqueItems condition is not met\. \(Items 0 and 1 are equal\.\)$/,
  ],
  [
    'a malformed licence',
    { licensing: { node: 'x' } },
    /^\/licensing\/node: OneOf conditions are not met\. \(The licence of this node: "development", or a licence of at least 64 characters\.\)$/,
  ],
  [
    'an age with one digit',
    { eventRouting: { streams: { a: { maxAge: '1h' } } } },
    /^\/eventRouting\/streams\/a\/maxAge: Pattern condition is not met\. \(.*; for 1h write 60m\.\)$/,
  ],
  [
    'a malformed size',
    { eventRouting: { streams: { a: { maxSize: '1KB' } } } },
    /^\/eventRouting\/streams\/a\/maxSize: Pattern condition is not met\. \(.*B, kB, MB, GB, KiB, MiB, GiB/,
  ],
  [
    'a malformed swarm key',
    { swarm: { swarmKey: 'x'.repeat(44) } },
    /^\/swarm\/swarmKey: Format is wrong\. \(A swarm key is the base64 of 32 bytes\.\)$/,
  ],
  [
    'a malformed address',
    { swarm: { initialPeers: ['rubbish'] } },
    /^\/swarm\/initialPeers\/0: Format is wrong\. \(Malformed multiaddr\. /,
  ],
  [
    'an empty address',
    { swarm: { announceAddresses: ['/'] } },
    /^\/swarm\/announceAddresses\/0: Format is wrong\. \(Empty multiaddr\.\)$/,
  ],
  [
    'an address without a peer ID',
    { swarm: { initialPeers: ['/ip4/10.0.0.1/tcp/4001'] } },
    /^\/swarm\/initialPeers\/0: Format is wrong\. \(Expected multiaddr with peer id/,
  ],
  [
    'an address with a malformed peer ID',
    { swarm: { initialPeers: ['/ip4/10.0.0.1/tcp/4001/p2p/rubbish'] } },
    /^\/swarm\/initialPeers\/0: Format is wrong\. \(Malformed multiaddr\. /,
  ],
  [
    'an address with an unexpected peer ID',
    {
      swarm: { announceAddresses: ['/ip4/10.0.0.1/tcp/4001/p2p/12D3KooWMYKNodABsgqNP1zTQD4b18MZTktKvGPZHVM5P5S579Dj'] },
    },
    /^\/swarm\/announceAddresses\/0: Format is wrong\. \(Expected multiaddr without peer id\.\)$/,
  ],
  [
    'a malformed key',
    { admin: { authorizedUsers: ['x'.repeat(45)] } },
    /^\/admin\/authorizedUsers\/0: Format is wrong\. \(This is not a public key/,
  ],
  [
    'a key that is off the curve',
    { admin: { authorizedUsers: [`0${Buffer.from(`02${'00'.repeat(31)}`, 'hex').toString('base64')}`] } },
    /^\/admin\/authorizedUsers\/0: Format is wrong\. \(This cannot be a user's public key: it is not a point/,
  ],
  [
    'a malformed route',
    { eventRouting: { routes: [{ from: "'a' )))", into: 'a' }] } },
    /^\/eventRouting\/routes\/0\/from: Format is wrong\. \(Expected quoted tags joined by '\|' and '&': expected/,
  ],
]

for (const [what, document, message] of examples)
  test(`${what} is refused with its path and what is allowed`, () => {
    const lines = complaints(document)
    assert.equal(lines.length, 1, lines.join('\n'))
    assert.match(lines[0] ?? '', message)
  })

test('all validation errors of a document are reported at once', () => {
  const lines = complaints({ swarm: { topic: '', mdns: 1 }, admin: { displayName: '' } })
  assert.equal(lines.length, 3)
  const ofBothKinds = complaints({
    swarm: { mdns: 'yes', initialPeers: ['/ip4/10.0.0.1/tcp/4001', 5] },
    eventRouting: { routes: [{ from: "'a' )))", into: 'b' }, { from: "'a'" }] },
  })
  assert.deepEqual(ofBothKinds.map((line) => line.slice(0, line.indexOf(':'))).sort(), [
    '/eventRouting/routes/0/from',
    '/eventRouting/routes/1/into',
    '/swarm/initialPeers/0',
    '/swarm/initialPeers/1',
    '/swarm/mdns',
  ])
})

test('a number that JSON cannot represent is refused', () => {
  assert.match(
    complaints({ api: { events: { _internal: { a: Number.POSITIVE_INFINITY } } } })[0] ?? '',
    /Infinity is not a JSON number/,
  )
})
