/** Base64 in the alphabet of crypt(3), without padding: its text sorts like the bytes it stands for. */
const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const standard = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

const toCrypt = new Map([...standard].map((character, value) => [character, alphabet.charAt(value)]))
const toStandard = new Map([...alphabet].map((character, value) => [character, standard.charAt(value)]))

export function encodeCrypt64(bytes: Uint8Array): string {
  const text = Buffer.from(bytes).toString('base64').replace(/=+$/, '')
  return Array.from(text, (character) => toCrypt.get(character)).join('')
}

/** The bytes, or nothing when the text is not exactly what `encodeCrypt64` makes (another spelling is another name). */
export function decodeCrypt64(text: string): Uint8Array | undefined {
  const converted = Array.from(text, (character) => toStandard.get(character) ?? '?').join('')
  if (converted.includes('?')) return undefined
  const bytes = Buffer.from(converted, 'base64')
  return encodeCrypt64(bytes) === text ? new Uint8Array(bytes) : undefined
}
