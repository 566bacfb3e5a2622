import type { RetentionSettings } from './schema.ts'

/** The retention limits of a stream; a missing one means no limit. */
export interface Retention {
  readonly maxEvents?: number
  readonly maxBytes?: number
  readonly maxAgeSeconds?: number
}

const bytesPerUnit: Record<string, number> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}
const secondsPerUnit: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 }

/** Parses valid retention settings: 0, "0", null and undefined mean no limit. */
export function retentionOf(settings: Partial<RetentionSettings>): Retention {
  const maxEvents = Number(settings.maxEvents ?? 0)
  const maxBytes = measured(settings.maxSize, bytesPerUnit)
  const maxAgeSeconds = measured(settings.maxAge, secondsPerUnit)
  return {
    ...(maxEvents > 0 && { maxEvents }),
    ...(maxBytes > 0 && { maxBytes }),
    ...(maxAgeSeconds > 0 && { maxAgeSeconds }),
  }
}

function measured(text: string | number | null | undefined, units: Record<string, number>): number {
  const [, digits = '0', unit = ''] = /^([0-9]+)([a-zA-Z]*)$/.exec(String(text ?? 0)) ?? []
  return Number(digits) * (units[unit] ?? 1)
}

/** Suggests an equivalent for a `maxAge` with one digit, since it needs two: `60m` for `1h`. */
export function ageWithTwoDigits(text: string): string | undefined {
  const [, digit = '', unit = ''] = /^([1-9])([mhdw])$/.exec(text) ?? []
  const smaller = { m: 's', h: 'm', d: 'h', w: 'd' }[unit]
  if (smaller === undefined) return undefined
  const amount = (Number(digit) * (secondsPerUnit[unit] ?? 0)) / (secondsPerUnit[smaller] ?? 1)
  return amount < 10 ? `${amount * 24}h` : `${amount}${smaller}`
}
