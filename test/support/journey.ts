import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { control } from './control.ts'
import { temporaryFolder } from './folder.ts'
import { type Ended, shoal, until } from './process.ts'
import { type RunningNode, resultOf } from './running-node.ts'

/** A person with a configuration folder, who types commands. */
export class Journey {
  readonly #test: TestContext
  /** The folder for everything of this journey. */
  readonly folder: string
  readonly env: NodeJS.ProcessEnv

  constructor(test: TestContext) {
    this.#test = test
    this.folder = temporaryFolder(test)
    this.env = { XDG_CONFIG_HOME: join(this.folder, 'config') }
  }

  /** Runs a command. */
  run(args: readonly string[], input = '', env = this.env): Promise<Ended> {
    return shoal(this.#test, args, { env, input })
  }

  /** The output of a command for people, which has to succeed. */
  async text(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(args)
    assert.equal(code, 0, stdout + stderr)
    return stdout
  }

  /** The result of a command with --json, which has to succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test reads the members that it expects
  result(...args: string[]): Promise<any> {
    return resultOf(this.#test, args, { env: this.env })
  }

  /** A command that fails with a code: on stderr for people, as JSON on stdout. Returns the message. */
  async refused(code: string, ...args: string[]): Promise<string> {
    const [human, machine] = await Promise.all([this.run(args), this.run([...args, '--json'])])
    assert.deepEqual([human.code, human.stdout], [1, ''], human.stderr)
    assert.match(human.stderr, new RegExp(`^\\[${code}\\]:? Error: `))
    assert.deepEqual([machine.code, machine.stderr], [1, ''], machine.stdout)
    const { code: given, message } = JSON.parse(machine.stdout)
    assert.equal(given, code)
    assert.ok(human.stderr.includes(message), human.stderr)
    return message
  }
}

/** Waits until a node is connected to a number of others. */
export async function untilConnected({ folder, process }: RunningNode, peers: number): Promise<void> {
  await until(
    async () => {
      const { body } = await control(folder, 'GET', '/node/inspect')
      return body?.connections?.length === peers ? true : undefined
    },
    () => process.stderr,
  )
}

/** The payloads of the events with a tag, once a node has as many. */
export async function untilPayloads({ folder, process }: RunningNode, tag: string, count: number): Promise<unknown[]> {
  let payloads: unknown[] = []
  return await until(
    async () => {
      payloads = await payloadsOf(folder, tag)
      return payloads.length >= count ? payloads : undefined
    },
    () => `${JSON.stringify(payloads)}\n${process.stderr}`,
  )
}

async function payloadsOf(folder: string, tag: string): Promise<unknown[]> {
  const body = JSON.stringify({ query: `FROM '${tag}'`, order: 'asc' })
  const { body: lines, status } = await control(folder, 'POST', '/events/query', { body })
  // While the topic is changed.
  if (status === 503) return []
  const events = (lines as { type: string; payload?: unknown }[]).filter(({ type }) => type === 'event')
  return events.map(({ payload }) => payload)
}
