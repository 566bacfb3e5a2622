import { execFileSync } from 'node:child_process'
import type { TestContext } from 'node:test'

export const addresses = { node: ['10.77.0.1', 'fd77::1'], other: ['10.77.0.2', 'fd77::2'] } as const

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Two network namespaces, connected by a veth pair. */
export function twoMachines(t: TestContext): { node: string; other: string } {
  const names = { node: `shoal-${process.pid}-a`, other: `shoal-${process.pid}-b` }
  for (const name of Object.values(names)) {
    ip('netns', 'add', name)
    t.after(() => ip('netns', 'delete', name))
  }
  ip('-n', names.node, 'link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', names.other)
  for (const machine of ['node', 'other'] as const) {
    const name = names[machine]
    const [v4, v6] = addresses[machine]
    ip('-n', name, 'address', 'add', `${v4}/24`, 'dev', 'eth0')
    // `nodad`: duplicate address detection would delay the use of the address.
    ip('-n', name, 'address', 'add', `${v6}/64`, 'dev', 'eth0', 'nodad')
    for (const device of ['lo', 'eth0']) ip('-n', name, 'link', 'set', device, 'up')
  }
  return names
}
