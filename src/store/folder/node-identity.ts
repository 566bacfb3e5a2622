import { crc32 } from 'node:zlib'
import { ShoalError } from '../../base/errors.ts'
import { type KeyPair, nodeIdOf, parsePrivateKey } from '../../identity/index.ts'

export interface StoredIdentity {
  readonly key: KeyPair
  /** The number of the last start. */
  readonly startCounter: number
  /** False for an identity of an earlier version, without node ID and checksum. */
  readonly isChecked: boolean
}

type Rows = readonly (readonly [name: string, value: string | bigint])[]

/**
 * The rows of the table `node`: the key, the start counter, the node ID and a checksum. The node ID is derived from the
 * key, so it does not match a damaged key.
 */
export function identityRows(key: KeyPair, startCounter: number): Rows {
  const values: Rows = [
    ['private_key', key.toPrivateText()],
    // A JavaScript number would be stored as REAL.
    ['cycles', BigInt(startCounter)],
    ['node_id', nodeIdOf(key.publicKey)],
  ]
  return [...values, ['checksum', BigInt(crc32(values.join()))]]
}

const names = ['private_key', 'cycles', 'node_id', 'checksum']
/** The rows of an earlier version. An identity with checksum would have to lose two rows to look like it. */
const unchecked = ['private_key', 'cycles']

/** Verifies and returns the identity in the rows of the table; undefined when there are no rows. */
export function checkedIdentity(rows: ReadonlyMap<unknown, unknown>, file: string): StoredIdentity | undefined {
  if (rows.size === 0) return undefined
  const has = (expected: readonly string[]): boolean =>
    rows.size === expected.length && expected.every((name) => rows.has(name))
  const isChecked = has(names)
  if (!isChecked && !has(unchecked)) throw damaged('The identity of the node', file)
  const key = keyOf(rows.get('private_key'), file)
  const nodeId = nodeIdOf(key.publicKey)
  if (isChecked && rows.get('node_id') !== nodeId) {
    const stored = JSON.stringify(String(rows.get('node_id')))
    throw damaged('The private key', file, `it is that of the node ${nodeId}, and the node ID beside it is ${stored}`)
  }
  const startCounter = startCounterOf(rows.get('cycles'), file)
  const [, , , [, checksum] = []] = identityRows(key, startCounter)
  if (isChecked && rows.get('checksum') !== checksum)
    throw damaged('The start counter', file, 'its checksum does not match')
  return { key, startCounter, isChecked }
}

function keyOf(text: unknown, file: string): KeyPair {
  try {
    return parsePrivateKey(String(text))
  } catch {
    throw damaged('The private key', file)
  }
}

/** Earlier versions stored it as REAL. */
function startCounterOf(value: unknown, file: string): number {
  const startCounter = typeof value === 'bigint' || typeof value === 'number' ? Number(value) : Number.NaN
  if (!Number.isSafeInteger(startCounter + 1) || startCounter < 0) throw damaged('The start counter', file)
  return startCounter
}

function damaged(what: string, file: string, detail?: string): ShoalError {
  const details = detail === undefined ? '' : `: ${detail}`
  const cause = `${what} in \`${file}\` is damaged${details}. Put \`node.db\` back from a backup.`
  return new ShoalError('ERR_INVALID_NODE_STATE', cause)
}
