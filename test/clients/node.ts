import { type TestScope, temporaryFolder } from '../support/folder.ts'
import { ShoalProcess, shoal, until } from '../support/process.ts'

/** A node in a child process with a temporary data folder. */
export class ClientNode {
  readonly folder: string
  readonly #scope: TestScope
  #process: ShoalProcess
  #port = 0

  private constructor(scope: TestScope, folder: string) {
    this.#scope = scope
    this.folder = folder
    this.#process = this.#run(0)
  }

  /** Starts a node, optionally with event routes. */
  static async start(scope: TestScope, routes: readonly { from: string; into: string }[] = []): Promise<ClientNode> {
    const folder = temporaryFolder(scope)
    if (routes.length > 0) {
      await settings(scope, folder, 'init')
      await settings(scope, folder, 'set', '/eventRouting/routes', JSON.stringify(routes))
    }
    const node = new ClientNode(scope, folder)
    await node.#untilUp()
    return node
  }

  /** The address of the API, as connection options of the SDK. */
  get address(): { readonly actyxHost: string; readonly actyxPort: number } {
    return { actyxHost: '127.0.0.1', actyxPort: this.#port }
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#process.kill(signal)
    await this.#process.ended
  }

  /** Restarts the node on the same port and data folder. */
  async startAgain(): Promise<void> {
    this.#process = this.#run(this.#port)
    await this.#untilUp()
  }

  /** Changes the topic of the running node, and waits until it is open. */
  async changeTopic(topic: string): Promise<void> {
    const { code, stderr } = await shoal(this.#scope, [
      ...['settings', 'set', '/swarm/topic', topic],
      ...['--working-dir', this.folder],
    ])
    if (code !== 0) throw new Error(stderr)
    await this.#process.logged(new RegExp(`the topic '${topic}' is open`))
  }

  #run(apiPort: number): ShoalProcess {
    const ports = ['--bind-api', `127.0.0.1:${apiPort}`, '--bind-admin', '127.0.0.1:0', '--bind-swarm', '127.0.0.1:0']
    return new ShoalProcess(this.#scope, ['run', '--print-addresses', ...ports, '--working-dir', this.folder])
  }

  async #untilUp(): Promise<void> {
    const line = await until(
      () => /^.*\n/.exec(this.#process.stdout)?.[0],
      () => `the node did not start:\n${this.#process.stderr}`,
      () => this.#process.child.exitCode !== null,
    )
    const [api = ''] = (JSON.parse(line) as { api: string[] }).api
    this.#port = Number(api.split(':').at(-1))
  }
}

async function settings(scope: TestScope, folder: string, ...args: string[]): Promise<void> {
  const { code, stderr } = await shoal(scope, ['settings', 'local', ...args, '--working-dir', folder])
  if (code !== 0) throw new Error(stderr)
}
