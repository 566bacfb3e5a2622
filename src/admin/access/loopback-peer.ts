import { readFile } from 'node:fs/promises'
import { isIPv4 } from 'node:net'
import { endianness } from 'node:os'
import { systemCode } from '../../base/errors.ts'
import { isLoopback } from '../../listening/listen.ts'

/** The 4-tuple that identifies a TCP connection, seen from this process. */
export interface ConnectionTuple {
  readonly localAddress: string
  readonly localPort: number
  readonly remoteAddress: string
  readonly remotePort: number
}

/** The UID of the process at the other end of a loopback connection; undefined where the system does not tell. */
export async function loopbackPeerUser(tuple: ConnectionTuple): Promise<number | undefined> {
  if (!isLoopback(tuple.remoteAddress)) return undefined
  // A client with an IPv6 socket can connect to an IPv4 address.
  const tables = await Promise.all(['/proc/net/tcp', '/proc/net/tcp6'].map(readTable))
  const user = peerUserIn(tables.join('\n'), tuple, endianness())
  // Users that the user namespace of a container does not map are shown with the overflow UID.
  return user === (await overflowUser()) ? undefined : user
}

async function overflowUser(): Promise<number> {
  const text = await readTable('/proc/sys/kernel/overflowuid')
  return text === '' ? defaultOverflowUser : Number(text)
}

async function readTable(file: string): Promise<string> {
  try {
    return await readFile(file, 'latin1')
  } catch (error) {
    // Another system, or one without IPv6.
    if (['ENOENT', 'EACCES', 'EPERM'].includes(systemCode(error) ?? '')) return ''
    throw error
  }
}

const established = '01'
/** The overflow UID of Linux, unless it is configured. */
const defaultOverflowUser = 65534

/**
 * Finds the socket at the other end of a connection in the tables of `/proc/net`, and returns its UID. Only established
 * sockets with an inode count: a socket that its process has closed is listed with UID 0, as if it were one of root.
 */
export function peerUserIn(tables: string, tuple: ConnectionTuple, order: 'BE' | 'LE'): number | undefined {
  const locals = addressTexts(tuple.remoteAddress, order).map((text) => `${text}:${portText(tuple.remotePort)}`)
  const remotes = addressTexts(tuple.localAddress, order).map((text) => `${text}:${portText(tuple.localPort)}`)
  for (const line of tables.split('\n')) {
    const [, local = '', remote = '', state, , , , user = '', , inode] = line.trim().split(/\s+/)
    if (!locals.includes(local) || !remotes.includes(remote)) continue
    if (state === established && inode !== '0' && /^\d+$/.test(user)) return Number(user)
  }
  return undefined
}

function portText(port: number): string {
  return port.toString(16).toUpperCase().padStart(4, '0')
}

/** An address as the tables show it: words of 32 bits in the byte order of the machine. */
function addressTexts(address: string, order: 'BE' | 'LE'): string[] {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1]
  const plain = mapped ?? address
  if (isIPv4(plain)) {
    const bytes = plain.split('.').map(Number)
    return [hexWords(bytes, order), hexWords([...Array<number>(10).fill(0), 0xff, 0xff, ...bytes], order)]
  }
  // The only IPv6 loopback address.
  return plain === '::1' ? [hexWords([...Array<number>(15).fill(0), 1], order)] : []
}

function hexWords(bytes: readonly number[], order: 'BE' | 'LE'): string {
  const buffer = Buffer.from(bytes)
  if (order === 'LE') buffer.swap32()
  return buffer.toString('hex').toUpperCase()
}
