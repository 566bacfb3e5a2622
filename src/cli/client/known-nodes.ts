import { appendFileSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf, ShoalError, systemCode } from '../../base/errors.ts'
import { type NodeId, parseNodeId } from '../../identity/index.ts'

/**
 * Trust on first use: the node that was first seen at each address. Another one there may be an attacker. The file has
 * one line per address; of several the first counts.
 */
export class KnownNodes {
  readonly file: string

  constructor(file: string) {
    this.file = file
  }

  at(address: string): NodeId | undefined {
    const lines = this.#text().split('\n')
    const known = lines.filter((line) => line !== '').map((line) => this.#parse(line))
    return known.find(([at]) => at === address)?.[1]
  }

  /** Adds a node. Returns the node that counts: another command may have added one at the same time. */
  add(address: string, node: NodeId): NodeId {
    // An editor may have left the last line without a line break.
    const start = /[^\n]$/.test(this.#text()) ? '\n' : ''
    try {
      mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 })
      // One append is atomic: concurrent commands do not overwrite each other's lines.
      appendFileSync(this.file, `${start}${address} ${node}\n`, { mode: 0o600 })
    } catch (error) {
      throw new ShoalError('ERR_IO', `cannot write \`${this.file}\``, { cause: error })
    }
    return this.at(address) ?? node
  }

  #text(): string {
    try {
      return readFileSync(this.file, 'utf8')
    } catch (error) {
      if (systemCode(error) === 'ENOENT') return ''
      throw new ShoalError('ERR_IO', `cannot read \`${this.file}\``, { cause: error })
    }
  }

  #parse(line: string): [string, NodeId] {
    const [address = '', node = '', ...rest] = line.split(' ')
    try {
      if (rest.length === 0) return [address, parseNodeId(node)]
    } catch (error) {
      throw new ShoalError('ERR_INVALID_INPUT', `\`${this.file}\`: ${messageOf(error)}`)
    }
    throw new ShoalError('ERR_INVALID_INPUT', `\`${this.file}\`: '${line}' is not an address and a node ID.`)
  }
}
