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

/** Filters packets of a machine. */
function filter({ name }: Machine, hook: 'input' | 'output', rules: readonly string[]): void {
  const chain = `type filter hook ${hook} priority 0\n${rules.join('\n')}`
  const input = `table inet shoal {\nchain ${hook} {\n${chain}\n}\n}\n`
  execFileSync('ip', ['netns', 'exec', name, 'nft', '-f', '-'], { input })
}

/**
 * Machines on one network, each a network namespace. A bridge in a further namespace connects them; this process reaches
 * them when it runs in that namespace, see `runInHub`. Needs Linux, `ip` and root.
 */
export class Site {
  readonly #prefix: string
  readonly #machines: Machine[] = []
  /** The bridges, and the ends of links in this namespace. */
  readonly #links: string[] = []

  private constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Makes machines on the bridge of the namespace in which this process runs. */
  static create(machines: number, { prefix = `shoal-${process.pid}` } = {}): Site {
    const site = new Site(prefix)
    try {
      ip('link', 'add', `br${site.#id}`, 'type', 'bridge')
      site.#links.push(`br${site.#id}`)
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

  /** Adds a second network, `10.78.0.0/24`, with an interface `eth1` of each of these machines. */
  addNetwork(machines: readonly Machine[]): ReadonlyMap<Machine, string> {
    const bridge = `bs${this.#id}`
    ip('link', 'add', bridge, 'type', 'bridge')
    this.#links.push(bridge)
    ip('address', 'add', '10.78.0.254/24', 'dev', bridge)
    ip('link', 'set', bridge, 'up')
    return new Map(
      machines.map((machine) => {
        const index = this.#machines.indexOf(machine) + 1
        const address = `10.78.0.${index}`
        this.#connect(machine, `s${index}-${this.#id}`, 'eth1', bridge)
        ip('-n', machine.name, 'address', 'add', `${address}/24`, 'dev', 'eth1')
        ip('-n', machine.name, 'link', 'set', 'eth1', 'up')
        return [machine, address]
      }),
    )
  }

  /** Removes the IPv4 addresses of a machine, so that it has IPv6 only. */
  removeV4({ name }: Machine): void {
    ip('-n', name, '-4', 'address', 'flush', 'dev', 'eth0')
  }

  /** Drops connections that others open to a port of a machine, as a firewall does. Needs `nft`. */
  dropInbound(machine: Machine, port: number): void {
    filter(machine, 'input', [`iifname "eth0" tcp dport ${port} tcp flags & (syn | ack) == syn drop`])
  }

  /** Others do not notice that a connection of this machine has ended: it sends neither FIN nor RST. Needs `nft`. */
  hideEnds(machine: Machine): void {
    filter(machine, 'output', ['tcp flags & (fin | rst) != 0 drop'])
  }

  /** Separates these machines from the others; the hub still reaches all of them. Needs `nft`. */
  partition(some: readonly Machine[]): void {
    const others = this.#machines.filter((machine) => !some.includes(machine))
    const dropped = (from: readonly Machine[]): string[] => [
      `ip saddr { ${from.map(({ v4 }) => v4).join()} } drop`,
      `ip6 saddr { ${from.map(({ v6 }) => v6).join()} } drop`,
    ]
    for (const machine of some) filter(machine, 'input', dropped(others))
    for (const machine of others) filter(machine, 'input', dropped(some))
  }

  /** Removes the rules of `dropInbound`, `hideEnds` and `partition` from machines. */
  removeFilters(machines: readonly Machine[] = this.#machines): void {
    for (const { name } of machines) ip('netns', 'exec', name, 'nft', 'flush', 'ruleset')
  }

  /** Removes all machines. Their processes have to be stopped before. */
  remove(): void {
    // A namespace is destroyed in the background, and its links with it: the next site needs their names.
    for (const link of this.#links.splice(0).reverse()) ip('link', 'delete', link)
    for (const { name } of this.#machines.splice(0)) ip('netns', 'delete', name)
  }

  get #id(): string {
    return String(process.pid)
  }

  #port(machine: Machine): string {
    return `m${this.#machines.indexOf(machine) + 1}-${this.#id}`
  }

  /** Connects a new interface of a machine to a port of a bridge. */
  #connect({ name }: Machine, port: string, device: string, bridge: string): void {
    ip('link', 'add', port, 'type', 'veth', 'peer', 'name', device, 'netns', name)
    this.#links.push(port)
    ip('link', 'set', port, 'master', bridge, 'up')
  }

  #add(index: number): void {
    const machine = { name: `${this.#prefix}-${index}`, v4: `10.77.0.${index}`, v6: `fd77::${index.toString(16)}` }
    ip('netns', 'add', machine.name)
    this.#machines.push(machine)
    this.#connect(machine, this.#port(machine), 'eth0', `br${this.#id}`)
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
