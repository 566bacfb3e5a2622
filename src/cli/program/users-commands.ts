import type { Command } from 'commander'
import { done, examples, type Finish, group, identity, leaf } from './command.ts'

export function usersCommand(finish: Finish): Command {
  const users = group('users', 'keys of the users who manage nodes')
  const commands = () => import('../commands/users.ts')
  const keyOf = (options: { readonly [name: string]: unknown }) => options['identity'] as string | undefined
  users.addCommand(
    leaf('keygen', 'make a new user key: a private and a public key file')
      .option('-o, --output <file>', 'file of the private key; the public one has `.pub` appended')
      .addHelpText(
        'after',
        examples(
          ['shoal users keygen', 'asks for the file; Enter takes the default'],
          ['shoal users keygen -o ./anna.key', 'writes anna.key and anna.key.pub'],
        ),
      )
      .action(done(finish, async (options) => (await commands()).makeKey(options['output'] as string | undefined))),
  )
  users.addCommand(
    leaf('add-key', 'authorize your key on the node of a data folder, running or stopped')
      .argument('<folder>', 'data folder of the node')
      .addOption(identity())
      .addHelpText('after', examples(['shoal users add-key ./shoal-data', 'as the owner of the folder']))
      .action(done(finish, async (options, folder) => (await commands()).addKey(String(folder), keyOf(options)))),
  )
  users.addCommand(
    leaf('pubkey', 'print your public key, for /admin/authorizedUsers')
      .addOption(identity())
      .addHelpText(
        'after',
        examples(['shoal users pubkey', 'of the default key'], ['shoal users pubkey -i ./anna.key', 'of another one']),
      )
      .action(done(finish, async (options) => (await commands()).printPublicKey(keyOf(options)))),
  )
  users.addCommand(
    leaf('claim', 'become the first authorized user of a fresh node')
      .argument('<node>', 'address of the admin port: host, host:port, URL or multiaddress')
      .option('--code <code>', 'the one-time code in the log of the node, from another machine; - reads it from stdin')
      .addOption(identity())
      .addHelpText(
        'after',
        examples(
          ['shoal users claim localhost', 'on the machine of the node, as the user who runs it'],
          ['shoal users claim press7.local --code 7K3M-…', 'from another machine'],
          ['shoal users claim press7.local --code -', 'the same; the list of processes does not show the code'],
        ),
      )
      .action(
        done(finish, async (options, node) =>
          (await commands()).claimNode(String(node), keyOf(options), options['code'] as string | undefined),
        ),
      ),
  )
  return users
}
