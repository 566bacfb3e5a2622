import * as fc from './property.ts'

/** Words of several alphabets; some are not in NFC or change when they are put together. */
const words = [
  ...[
    'abc',
    ':',
    'Schweißer',
    'größe',
    'gro\u0308ße',
    'Łódź',
    'Tiếng',
    'Ωμ\u2126',
    'Машина',
    'и\u0306',
    'עִבְרִית',
    'العَرَبِيَّة',
  ],
  ...[
    '机器',
    '\uf900',
    'ガード',
    'カ\u3099',
    '주문',
    '\u1112\u1161\u11ab',
    'ऑर्डर',
    'क\u093c',
    '\u0958',
    'เครื่อง',
    '🏭',
    '👩🏽‍🏭',
    '1\ufe0f\u20e3',
  ],
  ...[
    '\u0301',
    '\u0323',
    '\u0345',
    '\u{1d160}',
    '\u{1f1e9}\u{1f1ea}',
    '\u007f',
    '\u00a0',
    '\ud7a3',
    '\ue000',
    '\uffff',
    '\u{10ffff}',
  ],
]

/** A text of several alphabets, with combining marks, emoji and characters that decompose; never empty. */
export const anyTagText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...words) },
      fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }),
    ),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((parts) => parts.join(''))
