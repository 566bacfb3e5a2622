import type { Command } from 'commander'
import { done, examples, type Finish, group, leaf, namedNodes, onSeveralNodes } from './command.ts'

export function topicsCommand(finish: Finish): Command {
  const topics = group('topics', 'list and delete the topics of running nodes')
  const commands = () => import('../commands/topics.ts')
  topics.addCommand(
    onSeveralNodes(leaf('ls', 'list topics with their size in bytes'))
      .addHelpText(
        'after',
        examples(['shoal topics ls', 'the node in ./shoal-data'], ['shoal topics ls press7.local --json', 'as JSON']),
      )
      .action(
        done(finish, async (options, nodes) => {
          const { named, timeoutMs, isStrict } = namedNodes(options, nodes)
          return (await commands()).listTopics(named, timeoutMs, isStrict)
        }),
      ),
  )
  topics.addCommand(
    onSeveralNodes(leaf('delete', 'delete a topic with its events and files').argument('<topic>', 'name of the topic'))
      .addHelpText('after', examples(['shoal topics delete test-2025 press7.local', 'it must not be the active one']))
      .action(
        done(finish, async (options, topic, nodes) => {
          const { named, timeoutMs, isStrict } = namedNodes(options, nodes)
          return (await commands()).deleteTopic(String(topic), named, timeoutMs, isStrict)
        }),
      ),
  )
  return topics
}
