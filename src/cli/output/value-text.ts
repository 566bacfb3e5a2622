import type { Json } from '../../settings/index.ts'

/** Length at which a value is cut in a table. */
const shownCharacters = 50

/** A value of the settings as a cell of a table. */
export function valueText(value: Json | undefined): string {
  if (value === undefined) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > shownCharacters ? `${text.slice(0, shownCharacters - 1)}…` : text
}
