import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isVerbatim } from '../../src/events/publish/normal-form.ts'
import * as fc from '../support/property.ts'
import { anyTagText } from '../support/tag-texts.ts'

const isVerbatimText = (text: string): boolean => {
  const bytes = Buffer.from(`x${text}\\`)
  return isVerbatim(bytes, 1, bytes.length - 1)
}

const characters = Array.from({ length: 0x110000 }, (_, codePoint) => codePoint)
  .filter((codePoint) => codePoint < 0xd800 || codePoint > 0xdfff)
  .map((codePoint) => String.fromCodePoint(codePoint))

/** Characters that compose with one before them. */
const composing = new Set(characters.flatMap((character) => [...character.normalize('NFD')].slice(1)))

/** Marks of the lowest and the highest combining class. */
const [lowestMark, highestMark] = ['\u0334', '\u0345']

/** Whether a character changes places with others in a normalised text: its combining class is not 0. */
function isReordered(character: string): boolean {
  return [highestMark + character, character + lowestMark].some((text) => text.normalize('NFC') !== text)
}

test('any text of verbatim characters is in NFC: none decomposes, composes with the one before it or is reordered', () => {
  assert.ok(isReordered('\u0301') && isReordered(lowestMark) && isReordered(highestMark))
  const verbatim = characters.filter(isVerbatimText)
  for (const character of verbatim) {
    assert.equal(character.normalize('NFC'), character, named(character))
    assert.ok(!composing.has(character), named(character))
    assert.ok(!isReordered(character), named(character))
  }
})

test('characters of common alphabets are verbatim', () => {
  const texts = [
    'abc',
    'Schweißer-größe',
    'Łódź',
    'Tiếng Việt',
    'Ελληνικά',
    'Машина',
    'հայ',
    'עברית',
    'العربية',
    '机器',
    'オーダー',
  ]
  for (const text of [...texts, '주문', '🏭', '👩🏽‍🏭', '№ 5'.slice(2), '“€”', '→'])
    assert.ok(isVerbatimText(text), text)
})

test('escapes, marks and characters that decompose are not verbatim', () => {
  for (const text of ['\\', 'a\\u0061', 'e\u0301', '\u2126', '\uf900', '\u0958', '\u1161', '\u3099', '\u{1d160}'])
    assert.ok(!isVerbatimText(text), text)
})

test('a text that is verbatim equals its NFC', () => {
  fc.assert(
    fc.property(anyTagText, (text) => {
      if (isVerbatimText(text)) assert.equal(text.normalize('NFC'), text)
    }),
    { numRuns: 20_000 },
  )
})

function named(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16)}`
}
