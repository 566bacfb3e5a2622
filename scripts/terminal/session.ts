import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { shoalCommand } from '../shoal-command.ts'
import { withoutVolatile } from './volatile.ts'

/** A process with its output so far. */
class Recorded {
  readonly child: ChildProcess
  screen = ''
  readonly #ended: Promise<unknown>

  constructor(file: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    this.child = spawn(file, args, { stdio: ['pipe', 'pipe', 'pipe'], env })
    const add = (text: string): void => {
      this.screen += text
    }
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.setEncoding('utf8').on('data', add)
    this.#ended = once(this.child, 'close')
  }

  async ended(): Promise<string> {
    await this.#ended
    return this.screen
  }

  async until(text: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = text.exec(this.screen)
      if (found !== null) return found
      if (this.child.exitCode !== null) throw new Error(`no ${text} in:\n${this.screen}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

/** Records the first minutes with a node: start, first event, tail, top, doctor. Ports, IDs and times are replaced. */
export async function recordSession(folder: string): Promise<string> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^(SHOAL_|ACTYX_|AX_|RUST_LOG$|NODE_OPTIONS$)/.test(name),
  )
  const env = { ...Object.fromEntries(inherited), SHOAL_PATH: folder, SHOAL_STANDALONE: '1', NO_COLOR: '1', TZ: 'UTC' }
  const line = `stty cols 120; exec '${process.execPath}' '${shoalCommand}' run --random`
  const node = new Recorded('script', ['--quiet', '--return', '--command', line, '/dev/null'], env)
  try {
    await node.until(/Ctrl\+C/)
    const parts: string[] = []
    const start = (...args: string[]): Recorded => new Recorded(process.execPath, [shoalCommand, ...args], env)
    const command = async (typed: string, ...args: string[]): Promise<void> => {
      parts.push(`$ shoal ${typed}\n${await start(...args).ended()}`)
    }
    const publish = ['events', 'publish', '{"text":"hello"}', '-t', 'greeting']
    await command(`events publish '{"text":"hello"}' -t greeting`, ...publish)
    await command(`events query "FROM 'greeting'"`, 'events', 'query', "FROM 'greeting'")
    parts.push(
      `$ shoal events tail "FROM 'greeting'"\n${await tailed(
        () => start('events', 'tail', "FROM 'greeting'"),
        () => start(...publish),
      )}^C`,
    )
    await command('top | cat', 'top')
    await command('doctor', 'doctor')
    node.child.stdin?.write('\x03')
    const run = await node.ended()
    return withoutVolatile([`$ shoal run\n${run}`, ...parts].join('\n\n'), volatileIn(run, folder))
  } finally {
    node.child.kill('SIGKILL')
  }
}

/** The line of a tail. It begins at some moment, so that events are published until it shows one. */
async function tailed(start: () => Recorded, publish: () => Recorded): Promise<string> {
  const tail = start()
  try {
    while (!tail.screen.includes('\n')) await publish().ended()
    return tail.screen.slice(0, tail.screen.indexOf('\n') + 1)
  } finally {
    tail.child.kill('SIGINT')
  }
}

function volatileIn(run: string, folder: string): { folder: string; nodeId: string; ports: Record<string, number> } {
  const nodeId = /node ID {6}(\S+)/.exec(run)?.[1] ?? ''
  const known: readonly (readonly [RegExp, number])[] = [
    [/API_BOUND: API bound to \S+:(\d+)\./g, 4454],
    [/Admin API bound to \S+\/(\d+)\./g, 4458],
    [/Swarm Services bound to \S+\/(\d+)\./g, 4001],
  ]
  const ports = known.flatMap(([pattern, port]) =>
    [...run.matchAll(pattern)].map(([, found = '']) => [found, port] as const),
  )
  return { folder, nodeId, ports: Object.fromEntries(ports) }
}

/** The page with a recording. */
export function terminalPage(session: string): string {
  return `# A recorded session

The first minutes with a node, recorded by \`npm run docs:terminal\`; a test records it again and compares. Ports are shown as
the default ones, and IDs, times and figures are replaced. \`shoal run\` is in a terminal of its own.

\`\`\`text
${session}
\`\`\`
`
}
