import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matches, parseRoute } from '../../src/settings/index.ts'
import * as fc from '../support/property.ts'

const tags = fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom(...`ab'" |&é`) })
const conditions = fc.array(fc.array(tags, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
const spaces = fc.constantFrom('', ' ', '  ', '\t', '\n')

const quote = (tag: string, mark: string) => `${mark}${tag.replaceAll(mark, mark + mark)}${mark}`

test('a route round-trips with any quotes and spacing', () => {
  fc.assert(
    fc.property(conditions, fc.constantFrom("'", '"'), spaces, (anyOf, mark, space) => {
      const text = anyOf
        .map((group) => group.map((tag) => quote(tag, mark)).join(`${space}&${space}`))
        .join(`${space}|${space}`)
      assert.deepEqual(
        parseRoute(space + text + space).anyOf,
        anyOf.map((group) => group.map((tag) => tag.normalize('NFC'))),
      )
    }),
  )
})

test('`&` binds tighter than `|`', () => {
  const condition = parseRoute("'a'|'b'&'c'")
  assert.ok(matches(condition, new Set(['a'])))
  assert.ok(matches(condition, new Set(['b', 'c'])))
  assert.ok(!matches(condition, new Set(['b'])))
  assert.ok(!matches(condition, new Set(['c', 'd'])))
})

test('a condition matches when all tags of one of its groups are present', () => {
  fc.assert(
    fc.property(conditions, fc.array(tags), (anyOf, list) => {
      const present = new Set(list)
      const text = anyOf.map((group) => group.map((tag) => quote(tag, "'")).join('&')).join('|')
      assert.equal(
        matches(parseRoute(text), present),
        anyOf.some((group) => group.every((tag) => present.has(tag.normalize('NFC')))),
      )
    }),
  )
})

test('a tag matches in any Unicode normalisation form', () => {
  assert.ok(matches(parseRoute("'e\u0301'"), new Set(['é'])))
})

test('a syntax error in a route is refused with its position', () => {
  const wrong: [string, RegExp][] = [
    ['', /expected a quoted tag at the end/],
    ["'a' )", /expected '\|', '&' or the end at character 5 \("\)"\)/],
    ["'a", /the quote at character 1 .* is never closed/],
    ["'a' &", /expected a quoted tag at the end/],
    ["'a' && 'b'", /expected a quoted tag at character 6/],
    ["'a' | ''", /a tag cannot be empty/],
    ['allEvents', /expected a quoted tag at character 1/],
  ]
  for (const [text, message] of wrong) assert.throws(() => parseRoute(text), { message })
})
