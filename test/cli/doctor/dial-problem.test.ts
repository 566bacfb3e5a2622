import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dialProblem } from '../../../src/cli/doctor/dial-problem.ts'
import { anotherNode, anotherTopic, reasonOf } from '../../../src/swarm/host/dial-failure.ts'

test('the reasons that nodes give for failed connections are understood', () => {
  const code = (name: string): Error => Object.assign(new Error(name), { code: name })
  const named = (name: string): Error => Object.assign(new Error(name), { name })
  const errors: [Error, string][] = [
    [code('ECONNREFUSED'), 'refused'],
    [code('EHOSTUNREACH'), 'no route'],
    [code('ENETUNREACH'), 'no route'],
    [code('EHOSTDOWN'), 'no route'],
    [code('EADDRNOTAVAIL'), 'no route'],
    [code('ETIMEDOUT'), 'timeout'],
    [named('TimeoutError'), 'timeout'],
    [code('ENOTFOUND'), 'name'],
    [code('EAI_AGAIN'), 'name'],
    [code('EPERM'), 'own firewall'],
    [code('EAFNOSUPPORT'), 'address'],
    [code('EINVAL'), 'address'],
    [named('NoValidAddressesError'), 'address'],
    [named('UnexpectedPeerError'), 'another node'],
    [named('InvalidPeerIdError'), 'itself'],
    [anotherNode(undefined), 'another node'],
    [anotherNode(Buffer.alloc(32, 1).toString('latin1')), 'another node'],
    [anotherTopic('a', 'b'), 'topic'],
    [code('ECONNRESET'), 'other'],
  ]
  for (const [error, problem] of errors) assert.equal(dialProblem(reasonOf(error)), problem, error.message)
})

test('the messages of commands that reach no node are understood', () => {
  assert.equal(dialProblem('connect ECONNREFUSED 127.0.0.1:1'), 'refused')
  assert.equal(dialProblem('10.0.0.7:4458: timeout'), 'timeout')
  assert.equal(dialProblem('connect ENETUNREACH 10.0.0.7'), 'no route')
})
