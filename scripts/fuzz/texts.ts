import type { Random } from '../crash/random.ts'

/** Fragments of texts: all tokens of the language, and some invalid characters. */
const vocabulary: readonly [string, ...string[]] = [
  ...([
    'FROM ',
    ' SELECT ',
    ' FILTER ',
    ' AGGREGATE ',
    ' LIMIT ',
    ' LET ',
    ':=',
    ' END ',
    ' ORDER ',
    'ASC',
    'DESC',
  ] as const),
  ...['PRAGMA ', '\nENDPRAGMA\n', 'FEATURES(', ' CASE ', ' => ', ' ENDCASE ', 'NULL', 'TRUE', 'FALSE', 'allEvents'],
  ...[
    'isLocal',
    'from(',
    'to(',
    'appId(',
    'KEY',
    'TIME',
    'TAGS(',
    'APP(',
    'SUM(',
    'PRODUCT(',
    'MIN(',
    'MAX(',
    'FIRST(',
  ],
  ...[
    'LAST(',
    "'a'",
    '"b"',
    "''",
    "'",
    '"',
    '`',
    '``',
    '`x{',
    '{',
    '}',
    '{U+41}',
    '{U+d800}',
    '(',
    ')',
    '[',
    ']',
    ',',
    '.',
  ],
  ...[
    '...',
    ':',
    '&',
    '∧',
    '|',
    '∨',
    '~',
    '⊻',
    '!',
    '¬',
    '=',
    '!=',
    '≠',
    '<',
    '<=',
    '≤',
    '>',
    '>=',
    '≥',
    '+',
    '-',
    '--',
  ],
  ...[
    '*',
    '×',
    '/',
    '÷',
    '⁄',
    '%',
    '^',
    '??',
    '_',
    'x',
    'Foo',
    'IsDefined(',
    '0',
    '1',
    '7.5',
    '-3',
    '18446744073709551616',
  ],
  ...[
    '2021-01-01Z',
    '2021-02-30Z',
    'T10:00:00.123+01:00',
    '3D ago',
    `${'.'.repeat(43)}-0`,
    '[0]',
    '.a',
    "['b']",
    ' ',
    '\n',
  ],
  ...['\r', '\t', '\0', '\ufeff', '\ud800', '🐟', 'ö', 'ⓐ', '\u00a0', '{ a: 1 }', '[1, 2]', '-- c\n', ';', '\\'],
]

/** A usually malformed text: random tokens, or a mutated query. */
export function anyText(random: Random, texts: readonly [string, ...string[]]): string {
  if (random.chance(0.1)) return Array.from({ length: random.below(30) }, () => random.pick(vocabulary)).join('')
  let text = random.pick(texts)
  for (let times = random.below(4) + 1; times > 0; times--) text = damaged(text, random, texts)
  return text
}

function damaged(text: string, random: Random, texts: readonly [string, ...string[]]): string {
  const [start, end] = span(text, random)
  const [before, within, after] = [text.slice(0, start), text.slice(start, end), text.slice(end)]
  switch (random.below(7)) {
    case 0:
      return before + after
    case 1:
      return before + random.pick(vocabulary) + text.slice(start)
    case 2:
      return before + within.repeat(random.below(4) + 2) + after
    case 3:
      return after + within + before
    case 4:
      return before + random.pick(texts) + after
    case 5:
      return before + String.fromCharCode(random.below(0x250)) + after
    default:
      return `${before}(${within})${after}`
  }
}

/** A range of characters, or of the tokens around them. */
function span(text: string, random: Random): readonly [number, number] {
  const start = random.below(text.length + 1)
  const end = Math.min(text.length, start + random.below(12))
  if (random.chance(0.5)) return [start, end]
  const isWord = (at: number) => /\w/.test(text.charAt(at))
  let [first, last] = [start, end]
  while (first > 0 && isWord(first - 1) && isWord(first)) first--
  while (last < text.length && isWord(last - 1) && isWord(last)) last++
  return [first, last]
}
