import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import type { Machine } from '../../scripts/site/site.ts'

/** Length of an IPv4 packet that only acknowledges: its headers, with time stamps. */
const acknowledgement = 52

/** Counts the bytes of connections between nodes on a machine, with headers, without packets that only acknowledge. */
export class SwarmTraffic {
  readonly #machine: Machine

  constructor(machine: Machine) {
    this.#machine = machine
    const rule = `tcp sport 4001 ip length > ${acknowledgement} counter\ntcp dport 4001 ip length > ${acknowledgement} counter`
    const chain = (hook: string): string =>
      `chain ${hook} {\ntype filter hook ${hook} priority 1\n${rule}\n${rule.replaceAll('ip length', 'ip6 length')}\n}`
    this.#nft(['-f', '-'], `table inet traffic {\n${chain('input')}\n${chain('output')}\n}\n`)
  }

  bytes(): { readonly sent: number; readonly received: number } {
    const of = (hook: string): number => {
      const text = this.#nft(['list', 'chain', 'inet', 'traffic', hook])
      return [...text.matchAll(/bytes (\d+)/g)].reduce((sum, [, bytes]) => sum + Number(bytes), 0)
    }
    return { sent: of('output'), received: of('input') }
  }

  remove(): void {
    this.#nft(['delete', 'table', 'inet', 'traffic'])
  }

  #nft(args: readonly string[], input = ''): string {
    return execFileSync('ip', ['netns', 'exec', this.#machine.name, 'nft', ...args], { input, encoding: 'utf8' })
  }
}

/** Processor time of a process since its start, in milliseconds. */
export function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return 10 * (Number(fields[11]) + Number(fields[12]))
}

/** Resident memory of a process. */
export function rssMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}
