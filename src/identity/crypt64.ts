/** Base64 with the alphabet of crypt(3), without padding: the text sorts like the bytes that it encodes. */
const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const toCrypt = characters(base64url, alphabet)
const fromCrypt = characters(alphabet, base64url)

export function encodeCrypt64(bytes: Uint8Array): string {
  return replaced(Buffer.from(bytes).toString('base64url'), toCrypt)
}

/** Decodes the canonical encoding; undefined for any text that `encodeCrypt64` would not produce. */
export function decodeCrypt64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(replaced(text, fromCrypt), 'base64url')
  return encodeCrypt64(bytes) === text ? new Uint8Array(bytes) : undefined
}

/** Lookup table from the characters of one alphabet to those of another. */
function characters(from: string, to: string): Uint8Array {
  const codes = new Uint8Array(256)
  for (let i = 0; i < from.length; i++) codes[from.charCodeAt(i)] = to.charCodeAt(i)
  return codes
}

function replaced(text: string, codes: Uint8Array): string {
  const bytes = Buffer.from(text, 'latin1')
  for (let i = 0; i < bytes.length; i++) bytes[i] = codes[bytes[i] as number] as number
  return bytes.toString('latin1')
}
