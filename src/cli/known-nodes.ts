import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { messageOf, ShoalError, systemCode } from '../base/errors.ts'
import { type NodeId, parseNodeId } from '../identity/index.ts'

/** Which node was first seen at an address: another one there may be an attacker. One line per address. */
export class KnownNodes {
  readonly file: string

  constructor(file: string) {
    this.file = file
  }

  at(address: string): NodeId | undefined {
    return this.#read().get(address)
  }

  add(address: string, node: NodeId): void {
    const nodes = this.#read().set(address, node)
    const text = [...nodes].map(([at, known]) => `${at} ${known}\n`).join('')
    try {
      mkdirSync(dirname(this.file), { recursive: true, mode: 0o700 })
      // Replaced at once, so that a command at the same time reads all of it.
      const temporary = `${this.file}.${process.pid}`
      writeFileSync(temporary, text, { mode: 0o600 })
      renameSync(temporary, this.file)
    } catch (error) {
      throw new ShoalError('ERR_IO', `cannot write \`${this.file}\``, { cause: error })
    }
  }

  #read(): Map<string, NodeId> {
    let text = ''
    try {
      text = readFileSync(this.file, 'utf8')
    } catch (error) {
      if (systemCode(error) !== 'ENOENT')
        throw new ShoalError('ERR_IO', `cannot read \`${this.file}\``, { cause: error })
    }
    const lines = text.split('\n').filter((line) => line !== '')
    return new Map(lines.map((line) => this.#parse(line)))
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
