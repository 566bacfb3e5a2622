/** Base64 in the alphabet of crypt(3), without padding: its text sorts like the bytes it stands for. */
const alphabet = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const base64url = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

const toCrypt = characters(base64url, alphabet)
const fromCrypt = characters(alphabet, base64url)

export function encodeCrypt64(bytes: Uint8Array): string {
  return replaced(Buffer.from(bytes).toString('base64url'), toCrypt)
}

/** The bytes, or nothing when the text is not exactly what `encodeCrypt64` makes (another spelling is another name). */
export function decodeCrypt64(text: string): Uint8Array | undefined {
  const bytes = Buffer.from(replaced(text, fromCrypt), 'base64url')
  return encodeCrypt64(bytes) === text ? new Uint8Array(bytes) : undefined
}

/** For each character of one alphabet, by its code, that of another. */
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
