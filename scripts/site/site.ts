import { execFileSync } from 'node:child_process'

/** A machine of a site: a network namespace with a link to the bridge of the site. */
export interface Machine {
  /** The name of its network namespace. */
  readonly name: string
  readonly v4: string
  readonly v6: string
}

/** Runs `ip`; what it says goes to stderr. */
function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/**
 * Machines on one network, each a network namespace. A bridge in a further namespace connects them; this process reaches
 * them when it runs in that namespace, see `runInHub`. Needs Linux, `ip` and root.
 */
export class Site {
  readonly #prefix: string
  readonly #machines: Machine[] = []

  private constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Makes machines on the bridge of the namespace in which this process runs. */
  static create(machines: number, { prefix = `shoal-${process.pid}` } = {}): Site {
    const site = new Site(prefix)
    try {
      ip('link', 'add', `br${site.#id}`, 'type', 'bridge')
      for (const address of ['10.77.0.254/24', 'fd77::fe/64'])
        ip('address', 'add', address, 'dev', `br${site.#id}`, ...(address.includes(':') ? ['nodad'] : []))
      ip('link', 'set', `br${site.#id}`, 'up')
      for (let i = 1; i <= machines; i++) site.#add(i)
    } catch (error) {
      site.remove()
      throw error
    }
    return site
  }

  get machines(): readonly Machine[] {
    return this.#machines
  }

  machine(index: number): Machine {
    const machine = this.#machines[index]
    if (machine === undefined) throw new Error(`the site has no machine ${index}`)
    return machine
  }

  /** Takes the link of a machine down, or up again. Its addresses stay. */
  setLink(machine: Machine, isUp: boolean): void {
    ip('link', 'set', this.#port(machine), isUp ? 'up' : 'down')
  }

  /** Drops connections that others open to a port of a machine, as a firewall does. Needs `nft`. */
  dropInbound(machine: Machine, port: number): void {
    const rule = `iifname "eth0" tcp dport ${port} tcp flags & (syn | ack) == syn drop`
    const rules = `table inet shoal {\n chain in {\n type filter hook input priority 0\n ${rule}\n }\n}\n`
    execFileSync('ip', ['netns', 'exec', machine.name, 'nft', '-f', '-'], { input: rules })
  }

  /** Removes all machines. Their processes have to be stopped before. */
  remove(): void {
    for (const { name } of this.#machines.splice(0)) ip('netns', 'delete', name)
    ip('link', 'delete', `br${this.#id}`)
  }

  get #id(): string {
    return String(process.pid)
  }

  #port(machine: Machine): string {
    return `m${this.#machines.indexOf(machine) + 1}-${this.#id}`
  }

  #add(index: number): void {
    const machine = { name: `${this.#prefix}-${index}`, v4: `10.77.0.${index}`, v6: `fd77::${index.toString(16)}` }
    ip('netns', 'add', machine.name)
    this.#machines.push(machine)
    const port = this.#port(machine)
    ip('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', machine.name)
    ip('link', 'set', port, 'master', `br${this.#id}`, 'up')
    ip('-n', machine.name, 'address', 'add', `${machine.v4}/24`, 'dev', 'eth0')
    // `nodad`: duplicate address detection would delay the use of the address.
    ip('-n', machine.name, 'address', 'add', `${machine.v6}/64`, 'dev', 'eth0', 'nodad')
    for (const device of ['lo', 'eth0']) ip('-n', machine.name, 'link', 'set', device, 'up')
    // mDNS is multicast, which needs a route.
    ip('-n', machine.name, 'route', 'add', '224.0.0.0/4', 'dev', 'eth0')
  }
}

/** Runs a command in a network namespace of its own, in which sites are made, and returns its exit code. */
export function runInHub(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env): number {
  const hub = `shoal-hub-${process.pid}`
  ip('netns', 'add', hub)
  try {
    ip('-n', hub, 'link', 'set', 'lo', 'up')
    execFileSync('ip', ['netns', 'exec', hub, command, ...args], { stdio: 'inherit', env })
    return 0
  } catch (error) {
    const { status } = error as { status?: number | null }
    if (typeof status !== 'number') throw error
    return status
  } finally {
    ip('netns', 'delete', hub)
  }
}
