import { quoted } from '../output/quoted.ts'
import { type DialProblem, dialProblem } from './dial-problem.ts'
import type { Facts, PeerFacts } from './facts.ts'
import type { CheckName, Finding } from './finding.ts'
import type { Target } from './target.ts'

/** Maximum number of peers with a finding of their own; the others are counted. */
const shownPeers = 20

/** Why other nodes are not connected: swarm key, topic, reachability. */
export function peerFindings(facts: Facts): Finding[] {
  const failing = (facts.peers ?? []).filter(({ isConnected, failure }) => !isConnected && failure !== undefined)
  // Initial peers are those that the operator has named.
  const sorted = [...failing].sort((a, b) => Number(b.isInitial) - Number(a.isInitial))
  const shown = sorted.slice(0, shownPeers).map((peer) => peerFinding(peer, facts.target))
  const rest = sorted.length - shown.length
  return [...shown, ...(rest > 0 ? [restFinding(rest, facts.target)] : []), ...inboundFindings(facts)]
}

function restFinding(count: number, target: Target): Finding {
  return {
    check: 'peers',
    severity: 'warning',
    problem: `${count} more nodes are not connected.`,
    why: 'Events of nodes that no connected node knows do not arrive.',
    fix: [`shoal nodes inspect ${target.argument}`],
  }
}

function peerFinding(peer: PeerFacts, target: Target): Finding {
  const { isInitial, failure } = peer
  const { address, reason } = failure ?? { address: '', reason: '' }
  const problem = dialProblem(reason)
  const which = `${isInitial ? 'The initial peer' : 'The node'} ${nameOf(peer)}`
  return {
    check: checkOf(problem),
    // Nodes that are not initial peers may be gone for good; different settings do not heal by themselves.
    severity: isInitial || problem === 'swarm key' || problem === 'topic' ? 'error' : 'warning',
    problem: `${which} at ${address} is not connected: ${reason}.`,
    ...advice(problem, { address, target, reason, isInitial }),
  }
}

function nameOf({ name, peerId }: PeerFacts): string {
  return name === '' ? peerId : `${name} (${peerId})`
}

function checkOf(problem: DialProblem): CheckName {
  return problem === 'swarm key' || problem === 'topic' ? problem : 'peers'
}

interface AdviceContext {
  readonly address: string
  readonly target: Target
  readonly reason: string
  readonly isInitial: boolean
}

function advice(problem: DialProblem, context: AdviceContext): Pick<Finding, 'why' | 'fix'> {
  const { address, target, reason, isInitial } = context
  const [, , host = address, , port = '4001'] = address.split('/')
  const setPeers = `shoal settings set /swarm/initialPeers '["/ip4/ADDRESS/tcp/4001/p2p/PEER_ID"]' ${target.argument}`
  switch (problem) {
    case 'swarm key':
      return {
        why: 'Nodes with different swarm keys cannot read each other, so nothing is replicated between them.',
        fix: [
          `shoal settings get /swarm/swarmKey ${target.argument}`,
          `shoal settings set /swarm/swarmKey KEY ${target.argument}`,
        ],
      }
    case 'topic':
      return {
        why: 'Nodes only exchange events of the same topic.',
        fix: [`shoal settings set /swarm/topic ${quoted(asYaml(topicIn(reason)))} ${target.argument}`],
      }
    case 'another node':
      return {
        why: 'The address belongs to another node now: a machine was replaced, or has a new identity.',
        fix: [`shoal nodes inspect ${quoted(host)}   # its PeerId`, setPeers],
      }
    case 'itself':
      return { why: 'A node does not connect to itself.', fix: [setPeers] }
    case 'refused':
      return {
        why: 'The machine answers, but no node listens at this port: it is stopped, or uses another port.',
        fix: ['shoal doctor   # on that machine', ...(isInitial ? [setPeers] : [])],
      }
    case 'timeout':
      return {
        why: 'Packets get no answer: the machine is off, or a firewall drops them.',
        fix: [`ping -c 3 ${quoted(host)}`, `sudo ufw allow ${port}/tcp   # on that machine`],
      }
    case 'no route':
      return {
        why: 'This machine has no way to that address: a cable, a WLAN, a VPN or a route is missing.',
        fix: [`ip route get ${quoted(host)}`],
      }
    case 'own firewall':
      return { why: 'A rule of this machine forbids the connection.', fix: ['sudo nft list ruleset'] }
    case 'name':
      return {
        why: 'The name of the peer is unknown to the resolver of this machine.',
        fix: [`getent hosts ${quoted(host)}`],
      }
    case 'address':
      return { why: 'Nodes connect by TCP to IP addresses and host names only.', fix: [setPeers] }
    default:
      return {
        why: 'Events of nodes that no connected node knows do not arrive.',
        fix: [`shoal nodes inspect ${target.argument}`],
      }
  }
}

function topicIn(reason: string): string {
  return /the node is in the topic '(.*)', this node in '/.exec(reason)?.[1] ?? 'TOPIC'
}

/** Refused inbound connections are only counted by reason, without the node. */
function inboundFindings({ running, target }: Facts): Finding[] {
  const failures = Object.entries(running?.inboundFailures ?? {})
  return failures.flatMap(([reason, count]): Finding[] => {
    const problem = dialProblem(reason)
    if (problem !== 'swarm key' && problem !== 'topic') return []
    return [
      {
        check: problem,
        severity: 'warning',
        problem: `${count} connections of other nodes have failed since the start: ${reason}.`,
        ...advice(problem, { address: '', target, reason, isInitial: false }),
      },
    ]
  })
}

/** A text as a YAML value, for `settings set`: quoted unless YAML reads it as a string anyway. */
function asYaml(text: string): string {
  const isWord = /^[a-z][\w-]*$/i.test(text) && !/^(true|false|null)$/i.test(text)
  return isWord ? text : JSON.stringify(text)
}
