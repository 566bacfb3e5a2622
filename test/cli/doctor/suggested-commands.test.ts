import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import type { Command } from 'commander'
import { endpointsOf } from '../../../src/cli/bind-options.ts'
import type { Facts } from '../../../src/cli/doctor/facts.ts'
import { findingsOf } from '../../../src/cli/doctor/report.ts'
import type { Target } from '../../../src/cli/doctor/target.ts'
import { namedNode, namedNodes } from '../../../src/cli/program/command.ts'
import { program } from '../../../src/cli/program/command-line.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { addressTarget, folderTarget } from './facts.ts'
import { machineFaults } from './machine-faults.ts'
import { swarmFaults } from './swarm-faults.ts'

const faults = [...machineFaults, ...swarmFaults]
const oddFolder: Target = { is: 'folder', folder: "/a b's $(x)", argument: "--working-dir '/a b'\\''s $(x)'" }
const targets = [folderTarget, oddFolder, addressTarget('press7.local'), addressTarget('::1', "'[::1]:4458'")]

/** The words that a shell passes to `shoal` for a command line, and for the commands in it. */
function wordsOf(line: string, cwd: string): string[][] {
  const shoal = 'shoal() { for word in "$#" "$@"; do printf "%s\\0" "$word" >&3; done; }'
  const stdio = ['pipe', 'pipe', 'pipe', 'pipe'] as const
  // Without a PATH nothing else can run.
  const ran = spawnSync('/bin/sh', ['-c', `${shoal}\n${line}`], { cwd, env: { PATH: '' }, stdio: [...stdio] })
  assert.deepEqual([ran.status, String(ran.stderr)], [0, ''], line)
  const fields = String(ran.output[3]).split('\0')
  const calls: string[][] = []
  for (let at = 0; at < fields.length - 1; at += Number(fields[at]) + 1)
    calls.push(fields.slice(at + 1, at + 1 + Number(fields[at])))
  return calls
}

/** Parses the words of a command as the command line does, with its checks of a node and of addresses. */
function parse(words: readonly string[]): void {
  const root = program(() => {}, true)
  let parsed = 0
  const replace = (command: Command): void => {
    for (const one of command.commands) replace(one)
    if (command.commands.length > 0) return
    command.action(() => {
      parsed++
      const options = command.optsWithGlobals()
      const node = command.processedArgs.at(-1)
      if (command.registeredArguments.at(-1)?.variadic) namedNodes(options, node)
      else if (command.registeredArguments.at(-1)?.name() === 'node') namedNode(options, node)
      if (command.name() === 'run') endpointsOf(options)
    })
  }
  replace(root)
  root.parse(words, { from: 'user' })
  assert.equal(parsed, 1)
}

/** The facts of the faults, about a node that is named in this way: by its address it is running, or not reached. */
function factsAbout(target: Target): Facts[] {
  const all = faults.map(([, facts]) => facts)
  if (target.is === 'address')
    return all.filter(({ reach }) => reach.is !== 'stopped').map(({ folder: _, ...facts }) => ({ ...facts, target }))
  return all.map((facts) => ({
    ...facts,
    target,
    folder: facts.folder === undefined ? undefined : { ...facts.folder, path: target.folder },
  }))
}

for (const target of targets)
  test(`every command in a finding about a node named ${target.argument} is one of the command line`, (t) => {
    const cwd = temporaryFolder(t)
    const lines = new Set(factsAbout(target).flatMap((facts) => findingsOf(facts).flatMap(({ fix }) => fix)))
    const commands = [...lines].filter((line) => /\bshoal /.test(line))
    assert.ok(commands.length > 20)
    for (const line of commands) {
      const calls = wordsOf(line, cwd)
      assert.ok(calls.length > 0, line)
      for (const words of calls) assert.doesNotThrow(() => parse(words), `${line}\n${JSON.stringify(words)}`)
      const last = calls.at(-1) ?? []
      // The node that was looked at; a command without its folder or address is about another one.
      if (target.is === 'folder' && last.includes('--working-dir')) assert.ok(last.includes(target.folder), line)
    }
  })

test('a command that does not exist, or with a wrong argument, is found', () => {
  for (const words of [
    ['nodes', 'stop'],
    ['run', 'press7.local'],
    ['run', '--bind-api', 'a', '--bind-api', '1'],
  ])
    assert.throws(() => parse(words), JSON.stringify(words))
})

test('a node that runs is stopped before it is started with other options', () => {
  let restarts = 0
  for (const target of targets)
    for (const facts of factsAbout(target).filter(({ running }) => running !== undefined))
      for (const { problem, fix } of findingsOf(facts))
        for (const [i, command] of fix.entries()) {
          if (!command.startsWith('shoal run ')) continue
          restarts++
          const stop = fix[i - 1] ?? ''
          assert.match(stop, /^shoal nodes shutdown --working-dir /, problem)
          const isThere = (line: string): boolean => / DATA_FOLDER {3}# on the machine of the node/.test(line)
          assert.deepEqual([stop, command].map(isThere), Array(2).fill(target.is === 'address'), problem)
        }
  assert.ok(restarts >= 4 * targets.length)
})
