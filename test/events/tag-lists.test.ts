import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format } from '../../src/base/format.ts'
import { TagLists } from '../../src/events/publish/tag-lists.ts'
import { RoutingTable } from '../../src/events/routing-table.ts'
import { JsonError, JsonScanner } from '../../src/json/json-scanner.ts'
import { ByteWriter, encodeLabels } from '../../src/protocol/index.ts'
import { anyMutation, mutated } from '../support/mutations.ts'
import * as fc from '../support/property.ts'
import { anyTagText } from '../support/tag-texts.ts'

const app = 'com.example.app'
const routes = new RoutingTable([{ from: "'a' & 'b'", into: 'both' }], new Map([['both', 5]]))

interface Read {
  readonly stream: number
  readonly labels: string
  /** The end position of the list. */
  readonly end: number
}

/** The result of reading the list at the start of a text, or the error message. */
function read(text: string): Read | string {
  const json = new JsonScanner(Buffer.from(text))
  // A small buffer with a byte that must be kept.
  const target = new ByteWriter(1).byte(7)
  try {
    const stream = new TagLists(json, target, app, routes).next()
    assert.equal(target.written[0], 7)
    return { stream, labels: target.written.toString('hex', 1), end: json.at }
  } catch (error) {
    if (error instanceof JsonError) return error.message
    throw error
  }
}

/** Reads the same list with a space in it, which disables the fast path. */
function readSpaced(text: string): Read | string {
  const found = read(text.replace('[', '[ '))
  if (typeof found === 'string') return found.replace(/(?<=line 1 column )\d+/, (column) => `${Number(column) - 1}`)
  return { ...found, end: found.end - 1 }
}

const plain = fc.string({ unit: fc.constantFrom(...'abcd:'), minLength: 1, maxLength: 9 })
const long = fc.integer({ min: 118, max: 134 }).map((length) => 'x'.repeat(length))
const inOrder = (tags: string[]): string[] => [...new Set(tags)].sort()
const oneTag = fc.oneof({ weight: 5, arbitrary: plain }, long, { weight: 2, arbitrary: anyTagText })
const some = fc.array(oneTag, { maxLength: 8 })
const many = fc
  .integer({ min: 120, max: format.tagsPerEvent })
  .map((count) => Array.from({ length: count }, (_, i) => `${1000 + i}`))
const lists = fc.oneof(some, some.map(inOrder), many)

test('tags in any order are encoded as labels', () => {
  fc.assert(
    fc.property(lists, (tags) => {
      const text = JSON.stringify(tags)
      const both = ['a', 'b'].every((tag) => tags.includes(tag))
      const labels = Buffer.from(encodeLabels(app, tags)).toString('hex')
      assert.deepEqual(read(`${text},"payload":1}`), { stream: both ? 5 : 0, labels, end: Buffer.byteLength(text) })
    }),
    { numRuns: 5000 },
  )
})

test('the fast path has the same result or error as the general path', () => {
  const mutation = anyMutation(
    fc.constantFrom('', '"', '\\', '[', ']', ',', '1', ' ', 'a', '""', '","', 'ü', '\\u0061', '\n', '"],"x":["'),
  )
  const after = fc.constantFrom('', '}', '},', ',"payload":1}', 'x')
  fc.assert(
    fc.property(lists, fc.array(mutation, { maxLength: 2 }), after, (tags, mutations, after) => {
      // The bracket is kept, because a space before it does not disable the fast path.
      const text = mutated(JSON.stringify(tags), mutations, 1).toWellFormed()
      assert.deepEqual(read(text + after), readSpaced(text + after), text + after)
    }),
    { numRuns: 20_000 },
  )
})

test('escaped tags have the labels of the same tags without escapes', () => {
  const hex = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  const escaped = (tag: string): string => Array.from({ length: tag.length }, (_, i) => hex(tag.charAt(i))).join('')
  fc.assert(
    fc.property(fc.array(fc.tuple(oneTag, fc.boolean()), { maxLength: 8 }), (tags) => {
      const text = tags.map(([tag, isEscaped]) => (isEscaped ? `"${escaped(tag)}"` : JSON.stringify(tag))).join(',')
      const found = read(`[${text}]`)
      const labels = encodeLabels(
        app,
        tags.map(([tag]) => tag),
      ).toString('hex')
      assert.equal(typeof found === 'string' ? found : found.labels, labels)
    }),
    { numRuns: 3000 },
  )
})

test('a lone surrogate in a tag is rejected, and a pair of escapes is one character', () => {
  for (const tag of ['\\ud800', 'ü\\udc00', '\\udc00\\ud800', '\\ud83d!'])
    assert.match(String(read(`["größe","${tag}"]`)), /^lone surrogate in hex escape at line 1 column \d+$/, tag)
  assert.deepEqual(read('["\\ud83c\\udfed"]'), { ...(read('["🏭"]') as Read), end: 16 })
})

test('the limit of bytes of a tag applies to its normalised form', () => {
  const fits = (tag: string): boolean => typeof read(JSON.stringify([tag, 'ü'])) !== 'string'
  assert.ok(fits('ü'.repeat(format.tagBytes / 2)))
  assert.ok(!fits(`${'ü'.repeat(format.tagBytes / 2)}x`))
  assert.ok(fits('u\u0308'.repeat(format.tagBytes / 2)))
  assert.ok(!fits('\u0958'.repeat(format.tagBytes / 6 + 1)))
  assert.ok(!fits('x'.repeat(format.tagBytes + 1)))
  assert.match(
    String(read(JSON.stringify(['e\u0301', 'x'.repeat(format.tagBytes + 1)]))),
    /^a tag of more than 1024 bytes at/,
  )
})
