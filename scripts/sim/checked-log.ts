import assert from 'node:assert/strict'
import type { StreamKey } from '../../src/protocol/index.ts'
import type { EventStore, StreamHead } from '../../src/store/port/index.ts'
import type { ReplicatedLog } from '../../src/swarm/index.ts'
import type { SignatureScheme } from './signatures.ts'

const signatureBytes = 64

/** The log of a node, with a check that nothing unsigned is ever stored. */
export function checkedLog(store: EventStore, scheme: SignatureScheme, label: string): ReplicatedLog {
  const headOf = async (key: StreamKey): Promise<StreamHead | undefined> => {
    const row = await store.headOf(key)
    assert.ok(row === undefined || isSigned(row, scheme), `${label} has stored a head with a wrong signature`)
    return row
  }
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'headOf') return headOf
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** Checked here as well: the simulator must not rely on what it tests. */
function isSigned({ key, head, frozen }: StreamHead, scheme: SignatureScheme): boolean {
  if (head === undefined) return frozen
  const end = head.length - signatureBytes
  return scheme.isSigned(key.node, head.subarray(0, end), head.subarray(end))
}
